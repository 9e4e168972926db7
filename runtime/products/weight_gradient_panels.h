// Products whose B is read repeatedly at shifted positions: the gradient of a convolution's weight, whose columns
// are the taps of every channel and whose depth runs over the pixels of the images.
//
// B is copied once, as a row of channels for every pixel. Each tap then reads the copy from its own start, so that
// im2col is never materialised. The kernels are the parts of codegen/schedules/gemm_runs.py. Called by contraction.cpp.
#pragma once

#include "products/packed_product.h"

namespace pellucid {

// Whether B has this form, and packing is worth it.
bool shares_windows(const PackedProduct& product);
int64_t run_shared_windows(const PackedProduct& product);

}  // namespace pellucid
