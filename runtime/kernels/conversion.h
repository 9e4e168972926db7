// Element conversion: copies a two-dimensional run of elements from one dtype and stride to another.
//
// The nest drivers stage operands through it, and copy_ uses it. If `install_conversion` named an existing kernel
// for a pair of dtypes (ops/ does, from the frozen file), the pack's cast kernel is used, else a plain loop. Both
// follow the IR's cast: integers wrap; NaN and overflow convert as on x86.
#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "kernels/kernel_ref.h"

namespace pellucid {

// Sizes {inner, outer}; strides in bytes.
struct Run {
  int64_t sizes[2];
  int64_t to_strides[2];
  int64_t from_strides[2];
};
void convert(DType to_dtype, char* to, DType from_dtype, const char* from, const Run& run);

// The map kernel {to; from} for this pair, for the nest drivers.
KernelRef& conversion_kernel(DType to, DType from);

// `id`: the map kernel of body cast(load 0) for this pair. Called before other threads run.
void install_conversion(DType to, DType from, const KernelId& id);

}  // namespace pellucid
