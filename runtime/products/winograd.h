// Convolutions of 3x3 windows, and the gradients of their images and filters, by Winograd's minimal filtering, where
// channels and tiles are many enough.
//
// Four elements of C take 16 multiplications instead of 36: the operands are transformed, 16 matrix products take
// the place of one, and their sums are transformed back (codegen/schedules/winograd.py has the formulas and the
// kernels). Filters are transformed once, some rows of tiles of the images at a time, right before their products.
// Called by contraction.cpp.
#pragma once

#include <optional>

#include "products/packed_product.h"

namespace pellucid {

// Nothing where the product is not such a convolution or not worth it, where some taps of a filter are zero or
// far smaller than the others, which the transformation would not keep apart, or where what was computed is not all
// finite: intermediate infinities are not part of the result. C is then to be computed another way.
std::optional<int64_t> run_winograd(const PackedProduct& product);

}  // namespace pellucid
