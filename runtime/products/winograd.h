// Winograd's minimal filtering for convolutions with 3x3 windows, and for the gradients of their images and
// filters, if there are enough channels and tiles.
//
// Four elements of C take 16 multiplications instead of 36: the operands are transformed, 16 matrix products replace
// one, and their sums are transformed back (codegen/schedules/winograd.py has the formulas and the kernels). Filters
// are transformed once; images a few rows of tiles at a time, right before their products. Called by contraction.cpp.
#pragma once

#include <optional>

#include "products/packed_product.h"

namespace pellucid {

// nullopt if the product is not such a convolution or not worth it, if some taps of a filter are zero or far
// smaller than the others (the transformation would lose them), or if a computed value is not finite:
// intermediate infinities must not reach the result. C must then be computed another way.
std::optional<int64_t> run_winograd(const PackedProduct& product);

}  // namespace pellucid
