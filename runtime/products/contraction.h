// Contractions: sums of products over several axes, mapped onto GEMM.
//
// The axes of C, A and B form four groups: batch (all have them), rows (C and A), columns (C and B)
// and depth (A and B). Where an operand's strides make one axis of each of its groups, the kernel
// reads it in place. Otherwise, and where a product is large, it is copied into panels
// (packed_product.h): this is how a convolution, whose image has rows of windows, runs as a matrix
// product. What is cut how follows from sizes and strides alone, so the bits do not depend on the number
// of threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/dtype.h"
#include "kernels/axes.h"
#include "kernels/kernel_ref.h"
#include "products/packed_product.h"

namespace pellucid {

struct ContractionCall {
  KernelRef& kernel;
  DType dtype;
  std::span<const uint8_t, kProductGroups> group_sizes;  // axes of each group, in the order of `extents`
  std::span<const int64_t> extents;
  char* data[kProductOperands];              // the bias may be null
  const int64_t* strides[kProductOperands];  // in bytes, one per axis; 0 where it does not move
  bool accumulates = false;                  // C holds a sum to add to; its dtype must allow it
  Beyond beyond = {};                        // of A or B; `run_beyond` alone reads it
  const int64_t* steps[kMaxBeyond] = {};     // per axis, how the indices of its dims grow
  CachedPanels* panel_cache = nullptr;       // of calls that read the same B
};
// Fast where rows or columns of C are contiguous; otherwise each element is a product of its own. Of a
// group with a bias along it, the bias's axis is the only one. Returns the kernels' lowest non-zero status, or 0.
int64_t run_contraction(const ContractionCall& call);
// The same with zeros beyond an operand; nothing where the caller had better copy them around it first.
std::optional<int64_t> run_beyond(const ContractionCall& call);

}  // namespace pellucid
