// Contractions: sums of products over several axes, mapped to GEMM.
//
// The axes of C, A and B form four groups: batch (in all of them), rows (C and A), columns (C and B) and depth (A
// and B). If an operand's strides collapse each of its groups into one axis, the kernel reads the operand in
// place. Otherwise, and if the product is large, it is packed into panels (packed_product.h): this is how a
// convolution, an image with rows of windows, runs as a matrix product. The splitting depends on sizes and
// strides alone, so the bits do not depend on the number of threads.
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
  std::span<const uint8_t, kProductGroups> group_sizes;  // number of axes of each group, in the order of `extents`
  std::span<const int64_t> extents;
  char* data[kProductOperands];              // the bias may be null
  const int64_t* strides[kProductOperands];  // in bytes, one per axis; 0: the operand does not move along it
  bool accumulates = false;                  // C contains a sum to add to; its dtype must allow it
  Beyond beyond = {};                        // of A or B; only `run_beyond` reads it
  const int64_t* steps[kMaxBeyond] = {};     // per axis, how much the indices of its dims grow
  CachedPanels* panel_cache = nullptr;       // shared by calls that read the same B
};
// Fast if rows or columns of C are contiguous; otherwise each element is a separate product. If there is a bias along a
// group, the bias's axis must be the group's only one. Returns the non-zero status of the lowest failing block, or 0.
int64_t run_contraction(const ContractionCall& call);
// The same for an operand that is zero-padded; nullopt if the caller should make a padded copy instead.
std::optional<int64_t> run_beyond(const ContractionCall& call);

}  // namespace pellucid
