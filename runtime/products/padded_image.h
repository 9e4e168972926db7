// Products whose B are the windows of a zero-padded image, without materialising im2col: a convolution with few
// output channels, and the gradient of its image.
//
// Some rows of all channels are copied with their padding; rows are contiguous, so that
// neighbouring columns of C are neighbouring places, whatever the tap. The places around the image, between the
// end of a row and the start of the next, are computed and left out. The kernels are the parts of
// codegen/schedules/gemm_runs.py. Called by contraction.cpp.
#pragma once

#include "products/packed_product.h"

namespace pellucid {

// Whether B is one, and this takes less time than copies of the windows.
bool reads_padded_image(const PackedProduct& product);
int64_t run_padded_image(const PackedProduct& product);

}  // namespace pellucid
