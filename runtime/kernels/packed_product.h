// Products of copied panels: contractions whose operands are no matrices in memory, and large ones.
//
// A is copied once, into panels that all of its uses share; each piece of C copies the blocks of B that
// it needs into memory of its thread. Both copies read the operand through lists of places, so that the
// windows of a convolution are never laid out as a matrix. Pieces of C, and slices of a depth that is
// long for a small C, follow from the extents alone: the bits do not depend on the number of threads.
// The kernels are the parts of compiler/schedules/gemm_parts.py. Called by contraction.cpp.
#pragma once

#include "core/dtype.h"
#include "kernels/axes.h"
#include "kernels/kernel_ref.h"

namespace pellucid {

struct PackedProduct {
  KernelRef& kernel;
  DType dtype;
  char* data[kProductOperands];          // the bias may be null
  AxisList groups[kProductGroups];       // rows are one axis of C; the last columns lie side by side in it
  bool accumulates = false;              // C holds a sum to add to
};
int64_t run_packed_product(PackedProduct product);

}  // namespace pellucid
