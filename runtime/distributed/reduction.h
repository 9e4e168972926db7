// Reductions of the ranks' operands in one fixed order, independent of size, location and transport.
//
// Each element is reduced over the ranks as a tree, ((0+1)+(2+3))+..., that splits at the largest power of two. So
// every rank, chunk size and transport computes the same bits. Half types are accumulated in float32 and rounded once,
// at the end.
#pragma once

#include <cstdint>
#include <span>

#include "core/dtype.h"

namespace pellucid::distributed {

enum class Reduction : uint8_t { Sum, Avg, Product, Min, Max, Band, Bor, Bxor, PremulSum };
constexpr int kNumReductions = 9;

// Whether PyTorch defines the reduction for the dtype: no min or max of complex numbers, no bitwise ops on floats.
bool is_defined(DType dtype, Reduction reduction);

// Computes out[i] as the tree over sources[rank][i]; `out` may be one of the sources. PremulSum multiplies each rank's
// elements by that rank's factor. Requires `is_defined(dtype, reduction)`.
void combine(DType dtype, Reduction reduction, std::span<const char* const> sources, std::span<const double> factors,
             char* out, int64_t count);

}  // namespace pellucid::distributed
