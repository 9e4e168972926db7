#include "products/gemm.h"

#include <algorithm>
#include <utility>

#include "core/thread_pool.h"
#include "kernels/cut.h"
#include "kernels/scratch.h"
#include "kernels/transpose.h"

namespace pellucid {
namespace {

// How an ordinary product is split. Every piece of rows packs the block of B that it reads, except a small one,
// which is read in place (kSmallBElements).
struct {
  int64_t panel = 14;  // rows of the tallest tile; with lower tiles, a piece's last two are not full
  int64_t rows = 84;
  int64_t many_rows = 252;    // rows of a piece if M is large,
  int64_t from_rows = 1008;   // that is, at least this
  int64_t columns = 512;      // of a block of the kernel
  int64_t column_step = 128;  // a multiple of every tile's width
  int64_t small_tiles = 4;    // the minimum that read a small B in place, for two panels or more
} constexpr kOrdinary;

// Small M and a B contiguous along k: dot products, without packing.
struct {
  int64_t rows = 12;
  int64_t columns = 64;  // of a piece: all rows use them while B is in the cache
  int64_t step = 16;
} constexpr kDots;

// M of two panels and a B with contiguous columns: the kernel does not pack B.
struct {
  int64_t one_panel = 14;  // with more rows, B would be read more than once,
  int64_t rows = 28;       // up to this many
  int64_t columns = 128;   // of a piece: both panels use them while B is in the cache,
  int64_t depth = 512;     // the minimum k, at which the B of an ordinary piece no longer fits it
  int64_t step = 32;
} constexpr kTwice;

// C^T = B^T A^T: A is packed instead of B, which is contiguous along k.
struct {
  int64_t rows = 128;   // of A, at most
  int64_t columns = 2;  // the minimum ratio of B's columns to A's rows
  int64_t depth = 128;  // the minimum for which transposing C back costs little
  int64_t vector = 64;  // bytes of a vector of rows of A,
  int64_t waste = 32;   // of which the last one may leave this many unused
  int64_t piece = 196;  // columns of C that are worth a copy of A
} constexpr kTransposed;

constexpr int64_t kCacheLine = 64;

// C^T = B^T A^T.
GemmCall transposed(const GemmCall& call) {
  GemmCall result = call;
  std::swap(result.m, result.n);
  std::swap(result.data[1], result.data[2]);
  constexpr int from[] = {0, 2, 1, 3};
  for (int operand = 0; operand < 4; ++operand) {
    result.strides[2 * operand] = call.strides[2 * from[operand] + 1];
    result.strides[2 * operand + 1] = call.strides[2 * from[operand]];
  }
  return result;
}

// Splits into tiles of about `size`: a remainder below half of it gets no tile of its own. Each tile has at least
// two steps.
Cut cut_by_size(int64_t extent, int64_t size, int64_t step, int64_t least = 1) {
  return {extent, std::max((extent + size - size / 2 - 1) / size, least), step};
}

// Whether the kernel would write contiguous columns of C. A single row may have a column's stride.
bool is_c_column_major(const GemmCall& call) {
  return call.strides[1] != call.item_size && call.n != 1 && (call.strides[0] == call.item_size || call.m == 1);
}

bool reads_small_b(const GemmCall& call) {
  const int64_t item = call.item_size, *s = call.strides;
  return s[3] == item && s[5] == item && s[4] % kCacheLine == 0 && call.n * call.k <= kSmallBElements;
}

Cut row_tiles(const GemmCall& call) {
  const int64_t panels = call.m / kOrdinary.panel;
  int64_t least = 1;
  if (reads_small_b(call))
    while (least < kOrdinary.small_tiles && 4 * least <= panels) least *= 2;
  return cut_by_size(call.m, call.m > kOrdinary.from_rows ? kOrdinary.many_rows : kOrdinary.rows, kOrdinary.panel,
                     least);
}

Cut column_tiles(const GemmCall& call) {
  if (call.m <= kDots.rows && call.strides[4] == call.item_size) return cut_by_size(call.n, kDots.columns, kDots.step);
  if (call.m > kTwice.one_panel && call.m <= kTwice.rows && call.k > kTwice.depth)
    return cut_by_size(call.n, kTwice.columns, kTwice.step);
  return cut_by_size(call.n, kOrdinary.columns, kOrdinary.column_step);
}

int64_t run_tile(const GemmCall& call, int64_t row, int64_t column, int64_t m, int64_t n) {
  const int64_t* s = call.strides;
  char* data[] = {call.data[0] + row * s[0] + column * s[1], call.data[1] + row * s[2], call.data[2] + column * s[5],
                  call.data[3] ? call.data[3] + row * s[6] + column * s[7] : nullptr};
  const int64_t sizes[] = {m, n, call.k};
  const Scratch workspace = product_workspace(m, n, call.k, call.item_size);
  const uint64_t params[] = {reinterpret_cast<uint64_t>(workspace.data()), call.accumulates, 0};
  return call.kernel.run(data, sizes, s, params);
}

// Computes columns of C as rows of C^T, and transposes them back while they are in the cache.
int64_t run_transposed(const GemmCall& call) {
  const int64_t row_bytes = call.m * call.item_size;
  GemmCall whole = transposed(call);
  const Cut columns = cut_by_size(call.n, kTransposed.piece, kOrdinary.panel);
  const auto piece = [&](int64_t number) -> int64_t {
    const int64_t column = columns.begin(number), size = columns.size(number);
    const Scratch sums(static_cast<size_t>(size * row_bytes));
    GemmCall part = whole;
    part.m = size;
    part.data[0] = sums.data();
    part.data[1] += column * part.strides[2];
    if (part.data[3]) part.data[3] += column * part.strides[6];
    part.strides[0] = row_bytes;
    part.strides[1] = call.item_size;
    if (const int64_t status = run_tile(part, 0, 0, part.m, part.n)) return status;
    transpose(call.data[0] + column * call.item_size, call.strides[0], sums.data(), row_bytes, call.m, size,
              static_cast<size_t>(call.item_size));
    return 0;
  };
  return parallel_blocks(columns.count, piece);
}

}  // namespace

Scratch product_workspace(int64_t m, int64_t n, int64_t k, int64_t item_size) {
  const int64_t block = std::min(std::max(m, n), kOrdinary.columns) * std::min(k, kOrdinary.columns) * item_size;
  return Scratch(kWorkspaceBytes, static_cast<size_t>(block < kWorkspaceBytes / 4 ? block : kWorkspaceBytes));
}

bool adds_to_result(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::Int32 || dtype == DType::Int64;
}

bool reads_columns(const GemmCall& call) {
  const int64_t item = call.item_size, *s = call.strides, bytes = call.m * item;
  const bool strides_fit = s[1] == item && s[4] == item && s[5] != item && can_transpose(static_cast<size_t>(item));
  const bool fills_vectors =
      (bytes + kTransposed.vector - 1) / kTransposed.vector * kTransposed.vector - bytes <= kTransposed.waste;
  return strides_fit && fills_vectors && !call.accumulates && !call.is_ordered && call.m > kDots.rows &&
         call.m <= kTransposed.rows && call.n >= kTransposed.columns * call.m && call.k >= kTransposed.depth;
}

bool is_small(const GemmCall& call) {
  return static_cast<double>(call.m) * static_cast<double>(call.n) * static_cast<double>(call.k) < kParallelProducts;
}

SmallProducts::SmallProducts(const GemmCall& shape)
    : transposed_(is_c_column_major(shape)), shape_(transposed_ ? transposed(shape) : shape),
      workspace_(product_workspace(shape.m, shape.n, shape.k, shape.item_size)) {}

int64_t SmallProducts::run(char* const* data) const {
  char* operands[] = {data[0], data[transposed_ ? 2 : 1], data[transposed_ ? 1 : 2], data[3]};
  const int64_t sizes[] = {shape_.m, shape_.n, shape_.k};
  const uint64_t params[] = {reinterpret_cast<uint64_t>(workspace_.data()), shape_.accumulates, 0};
  return shape_.kernel.run(operands, sizes, shape_.strides, params);
}

int64_t run_gemm(const GemmCall& call) {
  if (is_small(call)) return SmallProducts(call).run(call.data);
  if (is_c_column_major(call)) return run_gemm(transposed(call));
  call.kernel.get();  // resolving may call Python: not from a thread that others wait for
  if (reads_columns(call)) return run_transposed(call);
  const Cut rows = row_tiles(call), columns = column_tiles(call);
  return parallel_blocks(rows.count * columns.count, [&](int64_t block) {
    const int64_t row = block % rows.count, column = block / rows.count;
    return run_tile(call, rows.begin(row), columns.begin(column), rows.size(row), columns.size(column));
  });
}

}  // namespace pellucid
