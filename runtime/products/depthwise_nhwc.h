// A batch of products with M = 1, adjacent in memory, such as the channels of a depthwise convolution of
// images with the channels last: each lane of a vector is a product of its own.
//
// The kernel is a part of codegen/schedules/gemm_single.py. Called by contraction.cpp.
#pragma once

#include <optional>

#include "products/packed_product.h"

namespace pellucid {

// Runs the product, or returns nothing where it is none. Its C need not have contiguous columns.
std::optional<int64_t> run_channel_lanes(const PackedProduct& product);

}  // namespace pellucid
