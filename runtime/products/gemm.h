// Matrix products: one `gemm` kernel over fixed pieces of C, distributed over the thread pool.
//
// The contract of the kernel is in codegen/schedules/gemm.py: any strides of A and B, and the same bits for any
// split of C into pieces of at least thirteen rows and two columns. The pieces depend on the shape alone.
// Workspaces come from scratch.h.
#pragma once

#include "core/dtype.h"
#include "kernels/kernel_ref.h"
#include "kernels/scratch.h"

namespace pellucid {

// The memory into which a product's kernel packs blocks of its operands.
Scratch product_workspace(int64_t m, int64_t n, int64_t k, int64_t item_size);

constexpr int64_t kGrainProducts = 1 << 18;     // multiply-adds per block of parallel work
constexpr int64_t kParallelProducts = 1 << 19;  // minimum for a product to use a second thread

struct GemmCall {
  KernelRef& kernel;
  int64_t m, n, k;
  int64_t item_size;
  // C, A, B, bias. The bias may be null. Strides are {row, column} of each, in bytes.
  char* data[4];
  int64_t strides[8];
  bool accumulates = false;  // C contains a sum to add to
  bool is_ordered = false;   // A and B may not be swapped, and columns of C are contiguous
};
// Whether the kernels of this dtype can accumulate into C: their sums have its dtype.
bool adds_to_result(DType dtype);

// Whether B, contiguous along k like a layer's weight, should not be packed for a small M: `run_gemm` then reads
// it in place, as the first operand of C^T = B^T A^T.
bool reads_columns(const GemmCall& call);

// Whether the product is a single piece.
bool is_small(const GemmCall& call);

// Small products of one shape, one after the other: what they share is computed once.
class SmallProducts {
 public:
  explicit SmallProducts(const GemmCall& shape);  // its data pointers are not read
  int64_t run(char* const* data) const;           // C, A, B, bias

 private:
  const bool transposed_;
  const GemmCall shape_;
  const Scratch workspace_;
};

// One stride of C must be an item: its column's, else (C is transposed) its row's. Along C's contiguous direction
// the bias's stride must be an item or 0.
int64_t run_gemm(const GemmCall& call);

}  // namespace pellucid
