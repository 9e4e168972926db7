// Products whose A is a channels-last image: a convolution, and the gradient of its image.
//
// The rows of a window are stored one after the other, each with all channels of its pixels, and the windows of
// one line of C are equally spaced. A is therefore read in place: a block of the depth is a run of a row of the
// window. Only B, the weight, is packed into panels. The kernels are the parts of
// codegen/schedules/gemm_parts.py. Called by contraction.cpp.
#pragma once

#include <optional>

#include "products/packed_product.h"

namespace pellucid {

// Runs the product; nullopt if A is not such an image, has only one line (then it is a matrix), or is zero-padded.
std::optional<int64_t> run_pixel_product(const PackedProduct& product);

}  // namespace pellucid
