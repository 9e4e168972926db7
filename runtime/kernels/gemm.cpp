#include "kernels/gemm.h"

#include <algorithm>
#include <utility>

#include "core/thread_pool.h"
#include "kernels/scratch.h"
#include "kernels/transpose.h"

namespace pellucid {
namespace {

constexpr int64_t kRowStep = 84;                // full tiles on every ISA level
constexpr int64_t kColumnPiece = 512;           // a block of columns of the kernel
constexpr int64_t kParallelProducts = 1 << 19;  // multiply-adds that pay for a second thread
constexpr int64_t kDotRows = 12;                // of A that need no copy of a B whose k lie side by side
constexpr int64_t kDotPiece = 64;               // columns of C that as few rows meet while B is in the cache
constexpr int64_t kOnePanel = 14;               // rows of A that need B once, and
constexpr int64_t kFewRows = 28;                // twice: the kernel copies no B whose columns lie side by side for them;
constexpr int64_t kFewPiece = 128;              // columns that both panels meet while B is in the cache,
constexpr int64_t kFewDepth = 512;              // if so many rows of an ordinary piece are not
constexpr int64_t kTurnedRows = 128;            // of A that are copied rather than B,
constexpr int64_t kTurnedColumns = 2;           // times as many as they are,
constexpr int64_t kTurnedDepth = 128;           // where turning C back costs little
constexpr int64_t kTurnedBytes = 64;            // of a vector of rows of A,
constexpr int64_t kTurnedWaste = 32;            // of which the last one may miss so many
constexpr int64_t kTurnedPiece = 196;           // columns of C that pay for a copy of A

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

// Equal pieces of a multiple of `step`; a remainder below half a step joins the last piece.
struct Pieces {
  Pieces(int64_t extent, int64_t size, int64_t step) : extent(extent) {
    piece = std::max(size / step, int64_t{1}) * step;
    count = std::max<int64_t>((extent + piece - step / 2 - 1) / piece, 1);
  }
  int64_t begin(int64_t index) const { return index * piece; }
  int64_t size(int64_t index) const { return (index + 1 == count ? extent : begin(index + 1)) - begin(index); }
  int64_t extent, piece, count;
};

int64_t run_piece(const GemmCall& call, int64_t row, int64_t column, int64_t m, int64_t n) {
  const int64_t* s = call.strides;
  char* data[] = {call.data[0] + row * s[0] + column * s[1], call.data[1] + row * s[2],
                  call.data[2] + column * s[5],
                  call.data[3] ? call.data[3] + row * s[6] + column * s[7] : nullptr};
  const int64_t sizes[] = {m, n, call.k};
  const Scratch workspace(kProductWorkspace);
  const uint64_t params[] = {reinterpret_cast<uint64_t>(workspace.data()), call.accumulates, 0};
  return call.kernel.run(data, sizes, s, params);
}

// Columns of C as rows of C^T, which are turned back while they are in the cache.
int64_t run_turned(const GemmCall& call) {
  const int64_t row_bytes = call.m * call.item_size;
  GemmCall whole = transposed(call);
  const Pieces columns(call.n, kTurnedPiece, kTurnedPiece);
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
    if (const int64_t status = run_piece(part, 0, 0, part.m, part.n)) return status;
    transpose(call.data[0] + column * call.item_size, call.strides[0], sums.data(), row_bytes, call.m, size,
              static_cast<size_t>(call.item_size));
    return 0;
  };
  return parallel_blocks(columns.count, piece);
}

}  // namespace

bool adds_to_result(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::Int32 || dtype == DType::Int64;
}

bool reads_columns(const GemmCall& call) {
  const int64_t item = call.item_size, *s = call.strides, bytes = call.m * item;
  const bool lies_well = s[1] == item && s[4] == item && s[5] != item && can_transpose(static_cast<size_t>(item));
  const bool fills_vectors = (bytes + kTurnedBytes - 1) / kTurnedBytes * kTurnedBytes - bytes <= kTurnedWaste;
  return lies_well && fills_vectors && !call.accumulates && call.m > kDotRows && call.m <= kTurnedRows &&
         call.n >= kTurnedColumns * call.m && call.k >= kTurnedDepth;
}

int64_t run_gemm(const GemmCall& call) {
  // The kernel writes rows of C in one piece. A single row may lie as a column does.
  if (call.strides[1] != call.item_size && call.n != 1 && (call.strides[0] == call.item_size || call.m == 1))
    return run_gemm(transposed(call));
  const auto products = static_cast<double>(call.m) * static_cast<double>(call.n) * static_cast<double>(call.k);
  if (products < kParallelProducts) return run_piece(call, 0, 0, call.m, call.n);
  call.kernel.get();   // resolving may call Python: not from a thread that others wait for
  if (reads_columns(call)) return run_turned(call);
  // Every piece of rows packs the same block of B again: small pieces only where rows are few.
  const Pieces rows(call.m, call.m > 12 * kRowStep ? 3 * kRowStep : kRowStep, kRowStep);
  const bool reads_dots = call.m <= kDotRows && call.strides[4] == call.item_size;
  const bool reads_again = call.m > kOnePanel && call.m <= kFewRows && call.k > kFewDepth;
  const int64_t width = reads_dots ? kDotPiece : reads_again ? kFewPiece : kColumnPiece;
  const Pieces columns(call.n, width, width);
  return parallel_blocks(rows.count * columns.count, [&](int64_t block) {
    const int64_t row = block % rows.count, column = block / rows.count;
    return run_piece(call, rows.begin(row), columns.begin(column), rows.size(row), columns.size(column));
  });
}

}  // namespace pellucid
