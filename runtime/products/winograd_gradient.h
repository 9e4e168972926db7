// The gradient of the filters of a 3x3 convolution by Winograd's minimal filtering (winograd.h).
//
// Tiles of the image meet tiles of the gradient: 16 products of channels by tiles are added up block by block, and
// their sums are transformed into nine taps. Called by winograd.cpp.
#pragma once

#include <optional>

#include "products/packed_product.h"

namespace pellucid {

// Nothing where the product is not one, it is not worth it, or a result is not finite.
std::optional<int64_t> run_winograd_gradient(const PackedProduct& product);

}  // namespace pellucid
