// GEMM over packed panels: contractions whose operands have no 2-D strided layout, and large ones.
//
// What several pieces of C read of A or B is copied once, for all of them, unless it is very large; of a deep
// product, whose C is small, as much at a time as stays in the cache. What one piece alone reads it copies
// into memory of its thread, right before it is used (product_panels.h). Pieces of C, and slices of a depth
// that is long for a small C, follow from the extents alone: the bits do not depend on the number of threads.
// The kernels are the parts of codegen/schedules/gemm_parts.py. Called by contraction.cpp.
#pragma once

#include "core/dtype.h"
#include "core/tensor.h"
#include "kernels/axes.h"
#include "kernels/kernel_ref.h"

namespace pellucid {

// The packed copy of B that a product leaves for later ones, which read the same B or fewer of its columns. The
// owner must keep B's strides and elements unchanged.
struct CachedPanels {
  Tensor panels;
  const char* from = nullptr;
  int64_t columns = 0, depth = 0, slices = 0, blocks = 0;
};

struct PackedProduct {
  KernelRef& kernel;
  DType dtype;
  char* data[kProductOperands];     // the bias may be null
  AxisList groups[kProductGroups];  // rows are one axis of C; the last columns are contiguous in it
  bool accumulates = false;         // C holds a sum to add to
  Beyond beyond = {};               // of B, where `reads_beyond` allows it
  CachedPanels* panel_cache = nullptr;
};
// Whether B may be zero-padded: columns of its panels are runs in memory, and most k are alike.
bool reads_beyond(const PackedProduct& product);
int64_t run_packed_product(PackedProduct product);

}  // namespace pellucid
