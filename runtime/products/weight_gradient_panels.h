// Products whose B is read several times by moving over the same elements: the gradient of a convolution's
// weight, whose columns are the taps of every channel and whose depth are the places of the images.
//
// B is copied once, a row of channels for every place; each tap then reads the copy from where it begins, so
// that im2col is never materialised. The kernels are the parts of codegen/schedules/gemm_runs.py. Called by
// contraction.cpp.
#pragma once

#include "products/packed_product.h"

namespace pellucid {

// Whether B is one, and packing is worth it.
bool shares_windows(const PackedProduct& product);
int64_t run_shared_windows(const PackedProduct& product);

}  // namespace pellucid
