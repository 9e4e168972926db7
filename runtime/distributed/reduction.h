// Sums of the ranks' operands in one fixed order, whatever their size, place and transport.
//
// Element e of the result is a tree over the ranks, ((0+1)+(2+3))+..., whose halves are the greatest powers of
// two; so every rank, chunk size and transport gives the same bits. Half types are added in float32 and rounded
// once, at the end.
#pragma once

#include <cstdint>
#include <span>

#include "core/dtype.h"

namespace pellucid::distributed {

enum class Reduction : uint8_t { Sum, Avg, Product, Min, Max, Band, Bor, Bxor, PremulSum };
constexpr int kNumReductions = 9;

// Whether PyTorch's meaning of the reduction exists for the dtype: no order of complex numbers, no bits of floats.
bool is_defined(DType dtype, Reduction reduction);

// out[i] = the tree over sources[rank][i]; `out` may be one of the sources. PremulSum multiplies each rank's
// elements by its factor. The caller has asked `is_defined`.
void combine(DType dtype, Reduction reduction, std::span<const char* const> sources, std::span<const double> factors,
             char* out, int64_t count);

}  // namespace pellucid::distributed
