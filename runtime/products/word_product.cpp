#include "products/word_product.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/thread_pool.h"
#include "kernels/axes.h"
#include "kernels/transpose.h"
#include "products/gemm.h"
#include "products/product_panels.h"
#include "timeline/routes.h"

namespace pellucid {
namespace {

constexpr int64_t kWord = 4;               // bytes: elements of an operand, or one of C
constexpr int64_t kCopiedBytes = 1 << 15;  // bytes of a copy that are worth a block of work
constexpr int64_t kBlockBytes = 1 << 18;   // bytes of B that are copied, then used
constexpr int64_t kStrip = 64;             // rows and k that are transposed together: a cache line

// The minimum for which panels shared by all pieces of C are worth it, in words
constexpr int64_t kPackedExtent = 64, kPackedProducts = 1 << 21;

// Copies `count` elements `stride` bytes apart, for each of `rows` rows `row` bytes apart, to rows of words.
void copy_rows(char* to, int64_t to_row, const char* from, int64_t row, int64_t rows, int64_t stride, int64_t count) {
  if (stride == 1) {
    for (; rows--; to += to_row, from += row) {
      std::memcpy(to, from, static_cast<size_t>(count));
      std::memset(to + count, 0, static_cast<size_t>(to_row - count));
    }
    return;
  }
  for (int64_t k = 0; row == 1 && k < count; k += kStrip)
    transpose(to + k, to_row, from + k * stride, stride, rows, std::min(kStrip, count - k), 1);
  for (int64_t r = 0; r < rows; ++r, to += to_row, from += row) {
    for (int64_t k = 0; row != 1 && k < count; ++k) to[k] = from[k * stride];
    std::memset(to + count, 0, static_cast<size_t>(to_row - count));
  }
}

// Interleaves four rows of `columns` bytes to words: byte i of a word is of row i.
void interleave_four(char* to, const char* from, int64_t row, int64_t columns) {
  constexpr int64_t kBytes = sizeof(__m128i);
  const auto load = [&](int64_t i, int64_t j) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * row + j));
  };
  int64_t j = 0;
  for (; j + kBytes <= columns; j += kBytes) {
    const __m128i a = load(0, j), b = load(1, j), c = load(2, j), d = load(3, j);
    const __m128i pairs[] = {_mm_unpacklo_epi8(a, b), _mm_unpacklo_epi8(c, d), _mm_unpackhi_epi8(a, b),
                             _mm_unpackhi_epi8(c, d)};
    auto* const words = reinterpret_cast<__m128i*>(to + j * kWord);
    for (int half = 0; half < 2; ++half) {
      _mm_storeu_si128(words + 2 * half, _mm_unpacklo_epi16(pairs[2 * half], pairs[2 * half + 1]));
      _mm_storeu_si128(words + 2 * half + 1, _mm_unpackhi_epi16(pairs[2 * half], pairs[2 * half + 1]));
    }
  }
  for (; j < columns; ++j)
    for (int64_t i = 0; i < kWord; ++i) to[j * kWord + i] = from[i * row + j];
}

// Interleaves `count` rows of `columns` bytes, at most four of them, to words whose other bytes are 0.
void interleave_rows(char* to, const char* from, int64_t row, int64_t count, int64_t columns) {
  if (count == kWord) return interleave_four(to, from, row, columns);
  std::memset(to, 0, static_cast<size_t>(columns * kWord));
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < columns; ++j) to[j * kWord + i] = from[i * row + j];
}

// The sum of `words` words of signed bytes.
int32_t sum_of(const char* row, int64_t words) {
  static constexpr int64_t kVector = sizeof(__m256i) / kWord;
  alignas(sizeof(__m256i)) static constexpr int32_t kMask[2 * kVector] = {-1, -1, -1, -1, -1, -1, -1, -1};
  const __m256i one_byte = _mm256_set1_epi8(1), one_short = _mm256_set1_epi16(1);
  __m256i sums = _mm256_setzero_si256();
  const auto add = [&](__m256i bytes) {
    sums = _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(one_byte, bytes), one_short));
  };
  const auto at = [&](int64_t word) { return row + word * kWord; };
  int64_t k = 0;
  for (; k + kVector <= words; k += kVector) add(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at(k))));
  if (k < words) {
    const auto* const mask = reinterpret_cast<const __m256i*>(kMask + kVector - (words - k));
    add(_mm256_maskload_epi32(reinterpret_cast<const int*>(at(k)), _mm256_loadu_si256(mask)));
  }
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const __m128i two = _mm_add_epi32(four, _mm_unpackhi_epi64(four, four));
  return _mm_cvtsi128_si32(two) + _mm_extract_epi32(two, 1);
}

class WordProduct {
 public:
  explicit WordProduct(const ContractionCall& call) : kernel_(call.kernel), accumulates_(call.accumulates) {
    std::copy_n(call.data, kProductOperands, data_);
    size_t next = 0;
    for (int group = 0; group < kProductGroups; ++group)
      for (int k = call.group_sizes[group]; k--; ++next) add_axis(group, call, next);
    const AxisList& rows = groups_[kRows];
    const bool row_fits = rows.empty() || rows[0].strides[kC] == kWord;
    if (groups_[kColumns].empty() ? !rows.empty() && row_fits : !has_contiguous_columns() && row_fits) swap_operands();
    if (!has_contiguous_columns()) {
      groups_[kBatch].push_back(groups_[kColumns][0]);
      groups_[kColumns].clear();
    }
  }

  int64_t run() {
    for (int group : {kBatch, kRows, kColumns})
      if (points(groups_[group]) == 0) return 0;
    kernel_.get();  // resolving may call Python: not from a thread that others wait for
    const Axis depth = groups_[kDepth].empty() ? Axis{1, {0, 1, 1, 0}} : groups_[kDepth][0];
    words_ = ceil_div(depth.extent, kWord);
    groups_[kDepth] = {Axis{words_, {0, kWord, kWord, 0}}};
    if (!has_words(depth, kA)) copy(kA, depth);
    add_offset();
    const int64_t m = points(groups_[kRows]), n = points(groups_[kColumns]), k = words_;
    const bool is_packed = std::min(m, n) >= kPackedExtent && m * n * k > kPackedProducts;
    note_route(is_packed ? ProductRoute::Panels : ProductRoute::InPlace);
    if (!is_packed && has_rows_of_columns(depth)) return run_in_blocks(depth, m, n);
    if (has_rows_of_columns(depth)) interleave(depth);
    else if (!has_words(depth, kB)) copy(kB, depth);
    return is_packed ? run_packed_product(as_product()) : run_each(m, n);
  }

 private:
  void add_axis(int group, const ContractionCall& call, size_t number) {
    Axis axis{call.extents[number], {}};
    for (int operand : {kC, kA, kB}) axis.strides[operand] = call.strides[operand][number];
    if (axis.extent != 1) groups_[group].push_back(axis);
  }

  bool has_contiguous_columns() const { return groups_[kColumns].empty() || groups_[kColumns][0].strides[kC] == kWord; }

  // C^T = B^T A^T.
  void swap_operands() {
    std::swap(data_[kA], data_[kB]);
    std::swap(groups_[kRows], groups_[kColumns]);
    for (AxisList& axes : groups_)
      for (Axis& axis : axes) std::swap(axis.strides[kA], axis.strides[kB]);
  }

  // ------------------------------------------------------------ words of A and B

  static bool has_words(const Axis& depth, int operand) {
    return depth.strides[operand] == 1 && depth.extent % kWord == 0;
  }

  // Whether the columns of B are contiguous and k is not: then rows of B become rows of words.
  bool has_rows_of_columns(const Axis& depth) {
    return depth.strides[kB] != 1 && !groups_[kColumns].empty() && groups_[kColumns].back().strides[kB] == 1;
  }

  // Visits the axes of an operand's rows of k, innermost first, with their strides in a copy of all rows.
  template <class Visit>
  int64_t each_axis(int operand, Visit&& visit) {
    int64_t rows = 1;
    const int own = operand == kA ? kRows : kColumns;
    for (int group : {own, static_cast<int>(kBatch)})
      for (size_t k = groups_[group].size(); k--;) {
        Axis& axis = groups_[group][k];
        if (axis.strides[operand] == 0) continue;
        visit(axis, rows);
        rows *= axis.extent;
      }
    return rows;
  }

  AxisList axes_of(int operand) {
    AxisList axes;
    each_axis(operand, [&](Axis& axis, int64_t) { axes.insert(axes.begin(), axis); });
    return axes;
  }

  void copy(int operand, const Axis& depth) {
    AxisList axes = axes_of(operand);
    const int64_t row_bytes = words_ * kWord, rows = points(axes),
                  elements[] = {std::max<int64_t>(rows * row_bytes, 1)};
    Axis inner{1, {}};
    if (!axes.empty()) inner = axes.back(), axes.pop_back();
    Tensor& made = copies_[operand];
    made = empty(elements, DType::UInt8);
    const int64_t strips = ceil_div(inner.extent, kStrip), outer = points(axes);
    const int64_t together = std::max<int64_t>(kCopiedBytes / std::max<int64_t>(kStrip * row_bytes, 1), 1);
    parallel_blocks(ceil_div(outer * strips, together), [&](int64_t block) -> int64_t {
      for (int64_t i = block * together; i < std::min(outer * strips, (block + 1) * together); ++i) {
        const int64_t first = i % strips * kStrip, count = std::min(kStrip, inner.extent - first);
        const char* const from = data_[operand] + place_of(axes, operand, i / strips) + first * inner.strides[operand];
        char* const to = made->host() + (i / strips * inner.extent + first) * row_bytes;
        copy_rows(to, row_bytes, from, inner.strides[operand], count, depth.strides[operand], depth.extent);
      }
      return 0;
    });
    data_[operand] = made->host();
    each_axis(operand, [&](Axis& axis, int64_t place) { axis.strides[operand] = place * row_bytes; });
  }

  // Copies B as rows of words.
  void interleave(const Axis& depth) {
    AxisList outer = axes_of(kB);
    const int64_t columns = outer.back().extent, row_bytes = columns * kWord;
    outer.pop_back();
    const int64_t elements[] = {std::max<int64_t>(points(outer) * words_ * row_bytes, 1)};
    Tensor& made = copies_[kB];
    made = empty(elements, DType::UInt8);
    const int64_t total = points(outer) * words_;
    const int64_t together = std::max<int64_t>(kCopiedBytes / std::max<int64_t>(row_bytes, 1), 1);
    parallel_blocks(ceil_div(total, together), [&](int64_t block) -> int64_t {
      for (int64_t i = block * together; i < std::min(total, (block + 1) * together); ++i) {
        const int64_t k = i % words_ * kWord, stride = depth.strides[kB];
        const char* const from = data_[kB] + place_of(outer, kB, i / words_) + k * stride;
        interleave_rows(made->host() + i * row_bytes, from, stride, std::min(kWord, depth.extent - k), columns);
      }
      return 0;
    });
    data_[kB] = made->host();
    const Axis* const inner = &groups_[kColumns].back();
    each_axis(kB,
              [&](Axis& axis, int64_t place) { axis.strides[kB] = &axis == inner ? kWord : place * words_ * kWord; });
    groups_[kDepth][0].strides[kB] = row_bytes;
  }

  // The excess that kernels add to a sum, times -1, for every row of A.
  void add_offset() {
    const int64_t offset = describe(kernel_).offset;
    if (offset == 0) return;
    const AxisList axes = axes_of(kA);
    const int64_t rows = points(axes), count[] = {rows}, row_bytes = words_ * kWord;
    copies_[kBias] = empty(count, DType::Int32);
    auto* const sums = copies_[kBias]->host_as<int32_t>();
    const int64_t together = std::max<int64_t>(kCopiedBytes / std::max<int64_t>(row_bytes, 1), 1);
    parallel_blocks(ceil_div(rows, together), [&](int64_t block) -> int64_t {
      for (int64_t row = block * together; row < std::min(rows, (block + 1) * together); ++row)
        sums[row] = static_cast<int32_t>(-offset) * sum_of(data_[kA] + place_of(axes, kA, row), words_);
      return 0;
    });
    data_[kBias] = copies_[kBias]->host();
    each_axis(kA, [](Axis& axis, int64_t place) { axis.strides[kBias] = place * kWord; });
  }

  // ------------------------------------------------------------ the products

  PackedProduct as_product() {
    PackedProduct product{kernel_, DType::Int32, {}, {}, accumulates_};
    std::copy_n(data_, kProductOperands, product.data);
    std::ranges::copy(groups_, product.groups);
    return product;
  }

  // Interleaves as many columns of B at a time as stay in the cache until they are multiplied.
  int64_t run_in_blocks(const Axis& depth, int64_t m, int64_t n) {
    const AxisList columns = groups_[kColumns], batch = groups_[kBatch];
    char *const b = data_[kB], *const c = data_[kC];
    const int64_t most = std::max(kBlockBytes / (std::max<int64_t>(words_, 1) * kWord) / kLine * kLine, int64_t{kLine});
    for (int64_t first = 0; first < n; first += most) {
      groups_[kColumns] = columns, groups_[kBatch] = batch;
      groups_[kColumns][0].extent = std::min(most, n - first);
      data_[kB] = b + first * columns[0].strides[kB];
      data_[kC] = c + first * columns[0].strides[kC];
      interleave(depth);
      if (const int64_t status = run_each(m, groups_[kColumns][0].extent)) return status;
    }
    return 0;
  }

  int64_t stride(int group, int operand) const {
    return groups_[group].empty() ? 0 : groups_[group][0].strides[operand];
  }

  int64_t run_each(int64_t m, int64_t n) {
    GemmCall one{kernel_, m, n, words_, kWord, {}, {}, accumulates_, true};
    const int64_t strides[] = {stride(kRows, kC),    kWord,
                               stride(kRows, kA),    stride(kDepth, kA),
                               stride(kDepth, kB),   stride(kColumns, kB),
                               stride(kRows, kBias), stride(kColumns, kBias)};
    std::copy_n(strides, std::size(strides), one.strides);
    const auto run_at = [&](int64_t place) {
      GemmCall call = one;
      std::copy_n(data_, kProductOperands, call.data);
      move_to(call.data, groups_[kBatch], place);
      return run_gemm(call);
    };
    const int64_t batch = points(groups_[kBatch]);
    if (batch == 1 || !is_small(one)) {
      for (int64_t place = 0; place < batch; ++place)
        if (const int64_t status = run_at(place)) return status;
      return 0;
    }
    const int64_t together = std::max<int64_t>(kGrainProducts / std::max<int64_t>(m * n * words_, 1), 1);
    return parallel_blocks(ceil_div(batch, together), [&](int64_t block) -> int64_t {
      for (int64_t place = block * together; place < std::min(batch, (block + 1) * together); ++place)
        if (const int64_t status = run_at(place)) return status;
      return 0;
    });
  }

  KernelRef& kernel_;
  const bool accumulates_;
  char* data_[kProductOperands];
  AxisList groups_[kProductGroups];
  int64_t words_ = 0;  // per row of A
  Tensor copies_[kProductOperands];
};

}  // namespace

int64_t run_word_product(const ContractionCall& call) { return WordProduct(call).run(); }

}  // namespace pellucid
