// Element types: names, sizes, categories and PyTorch's promotion. The table is in src/pellucid_compiler/abi/dtypes.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "abi/dtypes.h"

namespace pellucid {

constexpr const DTypeFacts& facts_of(DType dtype) { return kDTypeFacts[static_cast<int>(dtype)]; }
constexpr size_t item_size(DType dtype) { return kItemSizes[static_cast<int>(dtype)]; }
constexpr DTypeCategory category(DType dtype) { return kCategories[static_cast<int>(dtype)]; }
constexpr bool is_differentiable(DType dtype) { return kDifferentiableDTypes >> static_cast<int>(dtype) & 1; }
static_assert(kNumDTypes <= 64, "kDifferentiableDTypes has a bit per dtype");

// Elements of opaque dtypes are stored, viewed and copied but have no numeric value. Their codes come last.
constexpr bool is_opaque(DType dtype) { return static_cast<int>(dtype) >= kNumValued; }
// The dtype used to copy elements of an opaque dtype.
constexpr DType carrier(DType dtype) {
  return item_size(dtype) == 1 ? DType::UInt8 : item_size(dtype) == 2 ? DType::Int16 : DType::Int32;
}
// NotImplementedError: "op" not implemented for 'Bits8'.
[[noreturn]] void raise_without_values(const char* op, DType dtype);

std::string_view name(DType dtype);  // "float32"
// Both from tensors with dimensions, or both from numbers.
[[noreturn]] void raise_unpromoted(DType a, DType b);
inline DType promote(DType a, DType b) {
  const uint8_t code = kPromoted[static_cast<int>(a)][static_cast<int>(b)];
  if (code == kNoDType) [[unlikely]]
    raise_unpromoted(a, b);
  return static_cast<DType>(code);
}
// Promotion of dimensioned tensors, 0-d tensors and numbers together: a lower rank counts only if its category is
// higher. An absent rank is std::nullopt.
DType promote_classes(std::optional<DType> dimensioned, std::optional<DType> zero_dim, std::optional<DType> number);
bool can_cast(DType from, DType to);  // PyTorch's rule for in-place ops and out=

}  // namespace pellucid
