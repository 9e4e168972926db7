// Products whose B consists of the windows of a zero-padded image, without materialising im2col: a convolution
// with few output channels, and the gradient of its image.
//
// A few rows of all channels are copied with their padding. Rows are contiguous, so that for every tap neighbouring
// columns of C read neighbouring pixels. The pixels in the padding, between the end of a row and the start of the next,
// are computed and discarded. The kernels are the parts of codegen/schedules/gemm_runs.py. Called by contraction.cpp.
#pragma once

#include "products/packed_product.h"

namespace pellucid {

// Whether B has this form, and this takes less time than packing the windows.
bool reads_padded_image(const PackedProduct& product);
int64_t run_padded_image(const PackedProduct& product);

}  // namespace pellucid
