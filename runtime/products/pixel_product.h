// Products whose A is an image with the channels last: a convolution of such images, and the gradient of the image.
//
// The rows of a window are one after the other in memory, each with all channels of its pixels, and the windows of
// one line of C are equally far apart. So A is read in place: a block of the depth is a run of a row of the
// window. Only B, the weight, is copied into panels. The kernels are the parts of codegen/schedules/gemm_parts.py.
// Called by contraction.cpp.
#pragma once

#include <optional>

#include "products/packed_product.h"

namespace pellucid {

// Runs the product, or returns nothing where A is none or of one line (then it is a matrix), or something is
// beyond it.
std::optional<int64_t> run_pixel_product(const PackedProduct& product);

}  // namespace pellucid
