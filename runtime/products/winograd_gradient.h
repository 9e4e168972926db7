// The gradient of the filters of a 3x3 convolution by Winograd's minimal filtering (winograd.h).
//
// Tiles of the image are multiplied with tiles of the gradient: 16 products of channels by tiles are accumulated
// block by block, and their sums are transformed into nine taps. Called by winograd.cpp.
#pragma once

#include <optional>

#include "products/packed_product.h"

namespace pellucid {

// nullopt if the product is not of this form, is not worth it, or has a non-finite result.
std::optional<int64_t> run_winograd_gradient(const PackedProduct& product);

}  // namespace pellucid
