#include "kernels/packed_product.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

#include "core/tensor.h"
#include "core/thread_pool.h"
#include "kernels/scratch.h"

namespace pellucid {
namespace {

constexpr int64_t kPackedElements = 1 << 22;    // of A that are copied at a time
constexpr int64_t kBlockColumns = 512;          // of a block of B, which stays in the L2 cache
constexpr int64_t kLeastColumns = 128;          // of a piece of C that is cut for more threads
constexpr int64_t kLeastWindows = 64;           // the same where a copy of B gathers places
constexpr int64_t kLeastPanels = 5;
constexpr int64_t kSumPanels = 20;              // of a piece whose sums have memory of their own
constexpr int64_t kPieces = 16;                 // that a large product is cut into at least
constexpr int64_t kRowPieces = 4;               // for fewer, every piece of rows gathers B again
constexpr int64_t kSliceDepth = 2048;
constexpr int64_t kPanelsPerTask = 4;           // of A that are copied by one task
constexpr int64_t kParallelProducts = 1 << 19;  // multiply-adds that pay for a second thread
constexpr int kMaxLanes = 16;
constexpr int kMaxSegments = 4;                 // runs of columns in one vector, else it is transposed

enum Mode : uint64_t { kDescribe = 1, kMultiply, kPackColumns, kPackDepth, kFinish, kPackMatrix };

// `described` of gemm_parts.py.
struct Tiling {
  int64_t rows, lanes, vectors, vectors_of_a, element_bytes, depth, is_narrow;
  int64_t width() const { return lanes * vectors; }
  int64_t vector_bytes() const { return lanes * element_bytes; }
};

int64_t run_part(KernelRef& kernel, Mode mode, char* const* data, const int64_t* sizes, const int64_t* strides = nullptr,
                 bool accumulates = false) {
  const uint64_t params[] = {0, accumulates, mode};
  return kernel.run(data, sizes, strides, params);
}

Tiling describe(KernelRef& kernel) {
  Tiling tiling;
  char* data[] = {reinterpret_cast<char*>(&tiling)};
  run_part(kernel, kDescribe, data, nullptr);
  return tiling;
}

// An extent in near-equal pieces of a multiple of `step`, but for the last.
struct Cut {
  Cut(int64_t extent, int64_t wanted, int64_t step) : extent(extent) {
    piece = ceil_div(ceil_div(extent, std::max<int64_t>(wanted, 1)), step) * step;
    count = ceil_div(extent, piece);
  }
  int64_t begin(int64_t index) const { return index * piece; }
  int64_t size(int64_t index) const { return std::min(piece, extent - begin(index)); }
  int64_t extent, piece, count;
};

struct Range {
  int64_t begin, size;
};

// A block of depth as one operand sees it: the place of every k, and the runs of k side by side.
class DepthPlaces {
 public:
  DepthPlaces(std::span<const Axis> axes, int operand, int64_t item) : axes_(axes), operand_(operand), item_(item) {}

  void find(Range block) {
    places.resize(static_cast<size_t>(block.size));
    places_of(axes_, operand_, block.begin, block.size, places.data());
    runs.clear();
    for (size_t k = 0; k < places.size(); ++k) {
      if (k && places[k] == places[k - 1] + item_) ++runs.back()[1];
      else runs.push_back({places[k], 1});
    }
  }

  std::vector<int64_t> places;
  std::vector<std::array<int64_t, 2>> runs;   // place, length

 private:
  const std::span<const Axis> axes_;
  const int operand_;
  const int64_t item_;
};

// How many elements lie side by side along the innermost of the axes.
int64_t inner_run(std::span<const Axis> axes, int operand, int64_t item) {
  return !axes.empty() && axes.back().strides[operand] == item ? axes.back().extent : 1;
}

// Copies blocks of one operand into panels of `vectors` vectors: of B, or of A transposed.
class Packer {
 public:
  Packer(KernelRef& kernel, const Tiling& tiling, int operand, std::span<const Axis> outer, std::span<const Axis> depth,
         int64_t item, int64_t vectors)
      : kernel_(kernel), tiling_(tiling), item_(item), vectors_(vectors), column_(joint_stride(outer, operand)),
        row_(joint_stride(depth, operand)), along_depth_(inner_run(depth, operand, item) > inner_run(outer, operand, item)),
        depth_(depth, operand, item) {}

  // The block of depth that the next panels are of.
  void start(Range block) {
    block_ = block;
    if (!is_matrix()) depth_.find(block);
  }

  // Panels of the columns at `columns`.
  void pack(char* to, char* from, std::span<const int64_t> columns) {
    const auto count = static_cast<int64_t>(columns.size());
    if (is_matrix()) {
      char* data[] = {to, from + columns[0] + block_.begin * *row_};
      const int64_t sizes[] = {block_.size, count, vectors_}, strides[] = {*row_, *column_};
      run_part(kernel_, kPackMatrix, data, sizes, strides);
      return;
    }
    const int64_t width = vectors_ * tiling_.lanes, step = width * tiling_.element_bytes;
    for (int64_t column = 0; column < count; column += tiling_.lanes)
      pack_vector(to + column / width * step * block_.size + column % width * tiling_.element_bytes, step, from,
                  &columns[static_cast<size_t>(column)], std::min(tiling_.lanes, count - column));
  }

 private:
  bool is_matrix() const { return row_ && column_; }

  // `count` columns at `columns` into a vector per k of the block, `step` bytes apart.
  void pack_vector(char* to, int64_t step, char* from, const int64_t* columns, int64_t count) {
    int ends[kMaxSegments];
    const int segments = along_depth_ ? 0 : cut_segments(columns, count, ends);
    if (segments == 0) return pack_depth(to, step, from, columns, count);
    for (int s = 0, first = 0; s < segments; first = ends[s++]) {
      char* data[] = {to, from + columns[first] - first * item_, bytes(depth_.places.data())};
      const int64_t sizes[] = {block_.size, first, ends[s], step};
      run_part(kernel_, kPackColumns, data, sizes);
    }
  }

  static char* bytes(void* array) { return static_cast<char*>(array); }

  // Where runs of columns side by side end; 0 if there are too many of them.
  int cut_segments(const int64_t* columns, int64_t count, int* ends) const {
    int segments = 0;
    for (int64_t i = 1; i <= count; ++i) {
      if (i < count && columns[i] == columns[i - 1] + item_) continue;
      if (segments == kMaxSegments) return 0;
      ends[segments++] = static_cast<int>(i);
    }
    return segments;
  }

  void pack_depth(char* to, int64_t step, char* from, const int64_t* columns, int64_t count) {
    int64_t places[kMaxLanes];
    for (int64_t i = 0; i < tiling_.lanes; ++i) places[i] = columns[std::min(i, count - 1)];
    char* data[] = {to, from, bytes(places), bytes(depth_.runs.data())};
    const int64_t sizes[] = {static_cast<int64_t>(depth_.runs.size()), step};
    run_part(kernel_, kPackDepth, data, sizes);
  }

  KernelRef& kernel_;
  const Tiling& tiling_;
  const int64_t item_, vectors_;
  const std::optional<int64_t> column_, row_;   // strides, where there is one
  const bool along_depth_;
  Range block_{};
  DepthPlaces depth_;
};

class Packed {
 public:
  explicit Packed(PackedProduct& product)
      : product_(product), tiling_(describe(product.kernel)), item_(static_cast<int64_t>(item_size(product.dtype))),
        m_(points(rows())), n_(points(columns())), k_(points(depth())) {
    order_depth();
    // Equal panels: a short last one would leave the processor waiting for its few sums.
    height_ = ceil_div(m_, ceil_div(m_, tiling_.rows));
    AxisList& batch = product.groups[kBatch];
    const auto shared = std::stable_partition(batch.begin(), batch.end(), [](const Axis& axis) { return axis.strides[kA] != 0; });
    own_ = points({batch.begin(), shared});
    sharing_ = points({shared, batch.end()});
    slices_ = count_slices();
    together_ = points(columns().subspan(joint_suffix(columns(), kC)));
    needs_sums_ = tiling_.is_narrow || together_ < n_;
  }

  int64_t run() {
    if (slices_ > 1) {
      const int64_t elements[] = {slices_ * own_ * sharing_ * m_ * n_ * tiling_.element_bytes};
      partial_ = empty(elements, DType::UInt8);
    }
    const int64_t item_elements = ceil_div(m_, height_) * a_lanes() * k_;
    if (own_ * item_elements <= kPackedElements) {
      if (const int64_t status = run_round({0, own_}, {0, m_})) return status;
    } else {
      const Cut bands(m_, ceil_div(item_elements, kPackedElements), height_);
      for (int64_t item = 0; item < own_; ++item)
        for (int64_t band = 0; band < bands.count; ++band)
          if (const int64_t status = run_round({item, 1}, {bands.begin(band), bands.size(band)})) return status;
    }
    return slices_ > 1 ? finish_slices() : 0;
  }

 private:
  std::span<const Axis> rows() const { return product_.groups[kRows]; }
  std::span<const Axis> columns() const { return product_.groups[kColumns]; }
  std::span<const Axis> depth() const { return product_.groups[kDepth]; }
  int64_t a_lanes() const { return tiling_.vectors_of_a * tiling_.lanes; }
  bool is_large() const { return static_cast<double>(own_ * sharing_ * m_ * n_) * static_cast<double>(k_) >= kParallelProducts; }

  // The order of a sum is free: the one in which B lies in memory makes the longest runs.
  void order_depth() {
    AxisList& axes = product_.groups[kDepth];
    std::ranges::stable_sort(axes, std::greater{}, [](const Axis& axis) { return std::abs(axis.strides[kB]); });
  }

  int64_t count_slices() const {
    const int64_t pieces = own_ * sharing_ * ceil_div(m_, kLeastPanels * height_) * ceil_div(n_, kLeastColumns);
    if (pieces >= kPieces) return 1;
    return std::clamp<int64_t>(k_ / kSliceDepth, 1, ceil_div(kPieces, pieces));
  }

  // ------------------------------------------------------------ depth: slices of blocks

  Cut slice_cut() const { return {k_, slices_, 1}; }
  Cut block_cut(int64_t size) const { return {size, ceil_div(size, tiling_.depth), 16}; }

  // `body(block, is_first, is_last)` for the blocks of a slice.
  template <class Body>
  int64_t each_block(int64_t slice, Body&& body) const {
    const Cut slices = slice_cut(), blocks = block_cut(slices.size(slice));
    for (int64_t b = 0; b < blocks.count; ++b) {
      const Range block{slices.begin(slice) + blocks.begin(b), blocks.size(b)};
      if (const int64_t status = body(block, b == 0, b + 1 == blocks.count)) return status;
    }
    return 0;
  }

  // ------------------------------------------------------------ panels of A

  // The items of A of `items`, of them the rows of `band`, and all products with them.
  int64_t run_round(Range items, Range band) {
    const int64_t panels = ceil_div(band.size, height_), row_bytes = a_lanes() * tiling_.element_bytes;
    const int64_t item_bytes = panels * k_ * row_bytes, elements[] = {items.size * item_bytes};
    const Tensor copy = empty(elements, DType::UInt8);
    char* const packed = copy->data();
    const int64_t tasks = ceil_div(panels, kPanelsPerTask);
    const auto pack = [&](int64_t number) {
      const int64_t slice = number % slice_cut().count, rest = number / slice_cut().count;
      const int64_t item = rest / tasks, first = rest % tasks * kPanelsPerTask;
      pack_panels(packed + item * item_bytes, items.begin + item, band, first, std::min(panels, first + kPanelsPerTask), slice);
    };
    const int64_t count = items.size * tasks * slice_cut().count;
    if (is_large()) parallel_blocks(count, pack);
    else for (int64_t number = 0; number < count; ++number) pack(number);
    return run_pieces(items, band, packed, item_bytes);
  }

  char* panel_of(char* packed, Range block, int64_t panels, int64_t panel) const {
    return packed + (block.begin * panels + panel * block.size) * a_lanes() * tiling_.element_bytes;
  }

  void pack_panels(char* packed, int64_t item, Range band, int64_t first, int64_t end, int64_t slice) {
    const int64_t panels = ceil_div(band.size, height_);
    char* const from = product_.data[kA] + place_of(product_.groups[kBatch], kA, item * sharing_);
    Packer packer(product_.kernel, tiling_, kA, rows(), depth(), item_, tiling_.vectors_of_a);
    std::vector<int64_t> places(static_cast<size_t>(std::min(band.size, end * height_) - first * height_));
    places_of(rows(), kA, band.begin + first * height_, static_cast<int64_t>(places.size()), places.data());
    each_block(slice, [&](Range block, bool, bool) -> int64_t {
      packer.start(block);
      for (int64_t panel = first; panel < end; ++panel) {
        const auto start = static_cast<size_t>((panel - first) * height_);
        const size_t height = std::min(static_cast<size_t>(height_), places.size() - start);
        packer.pack(panel_of(packed, block, panels, panel), from, std::span(places).subspan(start, height));
      }
      return 0;
    });
  }

  // ------------------------------------------------------------ pieces of C

  int64_t run_pieces(Range items, Range band, char* packed, int64_t item_bytes) {
    const int64_t batch = items.size * sharing_;
    const bool gathers = !joint_stride(columns(), kB) || !joint_stride(depth(), kB);
    const auto left = [&](int64_t wanted, int64_t made) { return is_large() ? ceil_div(wanted, batch * slices_ * made) : 1; };
    const int64_t narrowest = n_ / (gathers ? kLeastWindows : kLeastColumns);
    const Cut wide(n_, std::max(ceil_div(n_, kBlockColumns), std::min(left(kPieces, 1), narrowest)), tiling_.width());
    const int64_t panels = ceil_div(band.size, height_);
    const int64_t fewest = needs_sums_ ? ceil_div(panels, kSumPanels) : 1;
    const Cut tall(band.size, std::max(fewest, std::min(left(gathers ? kRowPieces : kPieces, wide.count), panels / kLeastPanels)), height_);
    const int64_t count = batch * slices_ * wide.count * tall.count;
    const auto piece = [&](int64_t number) -> int64_t {
      const int64_t t = number % tall.count, w = number / tall.count % wide.count;
      const int64_t rest = number / (tall.count * wide.count), slice = rest % slices_, b = rest / slices_;
      return run_piece(packed + b / sharing_ * item_bytes, items.begin * sharing_ + b, slice, band,
                       {tall.begin(t), tall.size(t)}, {wide.begin(w), wide.size(w)});
    };
    if (is_large()) return parallel_blocks(count, piece);
    for (int64_t number = 0; number < count; ++number)
      if (const int64_t status = piece(number)) return status;
    return 0;
  }

  // Where the sums of a piece are added up: in C itself, in its slice, or in memory of the thread.
  struct Sums {
    char* start;
    int64_t row;
  };

  int64_t run_piece(char* packed, int64_t batch, int64_t slice, Range band, Range m, Range n) {
    char* data[kProductOperands];
    std::copy_n(product_.data, kProductOperands, data);
    move_to(data, product_.groups[kBatch], batch);
    const int64_t row = band.begin + m.begin, bytes = tiling_.element_bytes;
    for (int operand : {kC, kBias})
      if (data[operand]) data[operand] += row * *joint_stride(rows(), operand);
    char* const c = data[kC] + (needs_sums_ ? 0 : n.begin * item_);
    const bool rounds = needs_sums_ && slices_ == 1;
    const Scratch own(rounds ? static_cast<size_t>(m.size * n.size * bytes) : 0);
    Sums sums{c, c_row()};
    if (rounds) sums = {own.data(), n.size * bytes};
    if (slices_ > 1) sums = {partial_->data() + ((slice * own_ * sharing_ + batch) * m_ * n_ + row * n_ + n.begin) * bytes, n_ * bytes};
    const bool in_place = slices_ == 1 && !rounds;
    if (const int64_t status = sum_piece(packed, data, slice, band, m, n, sums, in_place)) return status;
    return rounds ? finish(data, m.size, n, sums, 1, 0) : 0;
  }

  int64_t sum_piece(char* packed, char* const* data, int64_t slice, Range band, Range m, Range n, Sums sums, bool in_place) {
    const bool adds = in_place && product_.accumulates;
    const int64_t panels = ceil_div(band.size, height_), width = tiling_.width(), step = width * tiling_.element_bytes;
    std::vector<int64_t> places(static_cast<size_t>(n.size));
    places_of(columns(), kB, n.begin, n.size, places.data());
    Packer packer(product_.kernel, tiling_, kB, columns(), depth(), item_, tiling_.vectors);
    const Scratch block_of_b(static_cast<size_t>(ceil_div(n.size, width) * step * std::min(tiling_.depth + 16, k_)));
    return each_block(slice, [&](Range block, bool is_first, bool is_last) -> int64_t {
      packer.start(block);
      packer.pack(block_of_b.data(), data[kB], places);
      char* operands[] = {sums.start, panel_of(packed, block, panels, m.begin / height_), block_of_b.data(),
                          is_last && in_place && data[kBias] ? data[kBias] + n.begin * *joint_stride(columns(), kBias) : nullptr};
      const int64_t sizes[] = {m.size, n.size, block.size, height_};
      const int64_t strides[] = {sums.row, *joint_stride(rows(), kBias), *joint_stride(columns(), kBias)};
      return run_part(product_.kernel, kMultiply, operands, sizes, strides, !is_first || adds);
    });
  }

  int64_t c_row() const { return *joint_stride(rows(), kC); }

  // ------------------------------------------------------------ from sums to C

  // The columns `n` of C, of which `together_` at a time lie side by side; `sums` starts with them.
  int64_t finish(char* const* data, int64_t m, Range n, Sums sums, int64_t slices, int64_t slice_step) {
    const int64_t bias_column = *joint_stride(columns(), kBias);
    const int64_t strides[] = {c_row(), sums.row, *joint_stride(rows(), kBias), bias_column, slice_step};
    for (int64_t done = 0; done < n.size;) {
      const int64_t column = n.begin + done, run = std::min(together_ - column % together_, n.size - done);
      char* operands[] = {data[kC] + place_of(columns(), kC, column), sums.start + done * tiling_.element_bytes,
                          data[kBias] ? data[kBias] + column * bias_column : nullptr};
      const int64_t sizes[] = {m, run, slices};
      if (const int64_t status = run_part(product_.kernel, kFinish, operands, sizes, strides, product_.accumulates)) return status;
      done += run;
    }
    return 0;
  }

  int64_t finish_slices() {
    const int64_t bytes = tiling_.element_bytes;
    for (int64_t batch = 0; batch < own_ * sharing_; ++batch) {
      char* data[kProductOperands];
      std::copy_n(product_.data, kProductOperands, data);
      move_to(data, product_.groups[kBatch], batch);
      const Sums sums{partial_->data() + batch * m_ * n_ * bytes, n_ * bytes};
      if (const int64_t status = finish(data, m_, {0, n_}, sums, slices_, own_ * sharing_ * m_ * n_ * bytes)) return status;
    }
    return 0;
  }

  PackedProduct& product_;
  const Tiling tiling_;
  const int64_t item_, m_, n_, k_;
  int64_t height_;
  int64_t own_, sharing_;   // points of the batch that have an A of their own, and that share it
  int64_t slices_;
  int64_t together_;        // columns that lie side by side in C
  bool needs_sums_;         // C itself cannot hold the sums of a piece
  Tensor partial_;          // the sums of every slice
};

}  // namespace

void places_of(std::span<const Axis> axes, int operand, int64_t begin, int64_t count, int64_t* places) {
  if (axes.empty()) return std::fill_n(places, count, 0), void();
  const Axis& inner = axes.back();
  const std::span<const Axis> outside = axes.first(axes.size() - 1);
  for (int64_t done = 0; done < count;) {
    const int64_t index = begin + done, at = index % inner.extent;
    const int64_t run = std::min(inner.extent - at, count - done), stride = inner.strides[operand];
    const int64_t first = place_of(outside, operand, index / inner.extent) + at * stride;
    for (int64_t i = 0; i < run; ++i) places[done + i] = first + i * stride;
    done += run;
  }
}

int64_t run_packed_product(PackedProduct product) { return Packed(product).run(); }

}  // namespace pellucid
