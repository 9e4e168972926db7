// GEMM over packed panels: contractions whose operands have no 2-D strided layout, and large ones.
//
// Parts of A or B that several pieces of C read are packed once for all of them, unless they are very large; a
// deep product with a small C packs as much at a time as stays in the cache. What only one piece reads, the piece
// packs into per-thread memory right before it is used (product_panels.h). Pieces of C, and slices of a depth
// that is long for a small C, depend on the extents alone, so the bits do not depend on the number of threads.
// The kernels are the parts of codegen/schedules/gemm_parts.py. Called by contraction.cpp.
#pragma once

#include "core/dtype.h"
#include "core/tensor.h"
#include "kernels/axes.h"
#include "kernels/kernel_ref.h"

namespace pellucid {

// The packed panels of B, cached for later products that read the same B or fewer of its columns. The owner must
// keep B's strides and elements unchanged.
struct CachedPanels {
  Tensor panels;
  const char* from = nullptr;
  int64_t columns = 0, depth = 0, slices = 0, blocks = 0;
};

struct PackedProduct {
  KernelRef& kernel;
  DType dtype;
  char* data[kProductOperands];     // the bias may be null
  AxisList groups[kProductGroups];  // rows are one axis of C; the last columns axis is contiguous in C
  bool accumulates = false;         // C contains a sum to add to
  Beyond beyond = {};               // of B, if `reads_beyond` allows it
  CachedPanels* panel_cache = nullptr;
};
// Whether B may be zero-padded: columns of its panels are contiguous runs, and most k have the same mask.
bool reads_beyond(const PackedProduct& product);
int64_t run_packed_product(PackedProduct product);

}  // namespace pellucid
