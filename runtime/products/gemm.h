// Matrix products: one `gemm` kernel over fixed pieces of C, spread over the thread pool.
//
// The kernel's contract is codegen/schedules/gemm.py's: any strides of A and B, any split of C into
// pieces of at least thirteen rows and two columns with the same bits. The pieces follow from the shape
// alone. Workspaces come from scratch.h.
#pragma once

#include "core/dtype.h"
#include "kernels/kernel_ref.h"
#include "kernels/scratch.h"

namespace pellucid {

// What a product's kernel copies blocks of its factors into.
Scratch product_workspace(int64_t m, int64_t n, int64_t k, int64_t item_size);

constexpr int64_t kGrainProducts = 1 << 18;     // multiply-adds of a block of work that other threads may take
constexpr int64_t kParallelProducts = 1 << 19;  // of a product worth a second thread

struct GemmCall {
  KernelRef& kernel;
  int64_t m, n, k;
  int64_t item_size;
  // C, A, B, bias. The bias may be null. Strides are {row, column} of each, in bytes.
  char* data[4];
  int64_t strides[8];
  bool accumulates = false;  // C holds a sum to add to
  bool is_ordered = false;   // A and B may not change places, and columns of C are contiguous
};
// Whether the kernels of this dtype can accumulate into C: their sums have its dtype.
bool adds_to_result(DType dtype);

// Whether B, contiguous along k as in a layer's weight, should not be packed for a small M:
// `run_gemm` reads it in place, as the first factor of C^T = B^T A^T.
bool reads_columns(const GemmCall& call);

// Whether the product is one piece.
bool is_small(const GemmCall& call);

// Small products of one shape, one after the other: what they share is found once.
class SmallProducts {
 public:
  explicit SmallProducts(const GemmCall& shape);  // its data are not read
  int64_t run(char* const* data) const;           // C, A, B, bias

 private:
  const bool transposed_;
  const GemmCall shape_;
  const Scratch workspace_;
};

// C has one stride of an item: its column's, else (C is transposed) its row's. Along C's contiguous
// direction the bias's stride is an item or 0.
int64_t run_gemm(const GemmCall& call);

}  // namespace pellucid
