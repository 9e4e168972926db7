// A batch of adjacent products with M = 1, such as the channels of a depthwise convolution of channels-last
// images: each lane of a vector is a product of its own.
//
// The kernel is a part of codegen/schedules/gemm_single.py. Called by contraction.cpp.
#pragma once

#include <optional>

#include "products/packed_product.h"

namespace pellucid {

// Runs the product; nullopt if it is not of this form. Columns of C need not be contiguous.
std::optional<int64_t> run_channel_lanes(const PackedProduct& product);

}  // namespace pellucid
