#include "kernels/gemm.h"

#include <algorithm>
#include <utility>

#include "core/thread_pool.h"
#include "kernels/scratch.h"

namespace pellucid {
namespace {

constexpr int64_t kRowStep = 84;                // full tiles on every ISA level
constexpr int64_t kColumnPiece = 512;           // a block of columns of the kernel
constexpr int64_t kParallelProducts = 1 << 19;  // multiply-adds that pay for a second thread

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

}  // namespace

bool adds_to_result(DType dtype) {
  return dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::Int32 || dtype == DType::Int64;
}

int64_t run_gemm(const GemmCall& call) {
  // The kernel writes rows of C in one piece. A single row may lie as a column does.
  if (call.strides[1] != call.item_size && call.n != 1 && (call.strides[0] == call.item_size || call.m == 1))
    return run_gemm(transposed(call));
  const auto products = static_cast<double>(call.m) * static_cast<double>(call.n) * static_cast<double>(call.k);
  if (products < kParallelProducts) return run_piece(call, 0, 0, call.m, call.n);
  call.kernel.get();   // resolving may call Python: not from a thread that others wait for
  // Every piece of rows packs the same block of B again: small pieces only where rows are few.
  const Pieces rows(call.m, call.m > 12 * kRowStep ? 3 * kRowStep : kRowStep, kRowStep);
  const Pieces columns(call.n, kColumnPiece, kColumnPiece);
  return parallel_blocks(rows.count * columns.count, [&](int64_t block) {
    const int64_t row = block % rows.count, column = block / rows.count;
    return run_piece(call, rows.begin(row), columns.begin(column), rows.size(row), columns.size(column));
  });
}

}  // namespace pellucid
