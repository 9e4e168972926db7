#include "core/dtype.h"

#include "core/defaults.h"

namespace pellucid {
namespace {

constexpr std::string_view kNames[kNumDTypes] = {
    "bool",    "uint8",    "int8",    "int16",   "int32",     "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
};

constexpr DType complex_of(DType floating) { return floating == DType::Float64 ? DType::Complex128 : DType::Complex64; }

// The lattice: a higher category wins; inside one, the wider type; the two pairs without an order
// (uint8 with a signed type of its width, float16 with bfloat16) meet in the next wider type.
constexpr DType promote_pair(DType a, DType b) {
  if (a == b) return a;
  const DType low = a < b ? a : b, high = a < b ? b : a;
  if (category(low) != category(high)) {
    if (category(high) == DTypeCategory::Complex && category(low) == DTypeCategory::Floating)
      return complex_of(low) > high ? complex_of(low) : high;
    return high;
  }
  if (low == DType::UInt8 && high == DType::Int8) return DType::Int16;
  if (low == DType::Float16 && high == DType::BFloat16) return DType::Float32;
  return high;
}

struct PromotionTable {
  DType entry[kNumDTypes][kNumDTypes];
  constexpr PromotionTable() : entry() {
    for (int a = 0; a < kNumDTypes; ++a)
      for (int b = 0; b < kNumDTypes; ++b) entry[a][b] = promote_pair(static_cast<DType>(a), static_cast<DType>(b));
  }
};
constexpr PromotionTable kPromotion;

}  // namespace

std::string_view name(DType dtype) { return kNames[static_cast<int>(dtype)]; }

bool parse_dtype(std::string_view text, DType& out) {
  for (int i = 0; i < kNumDTypes; ++i)
    if (kNames[i] == text) return out = static_cast<DType>(i), true;
  return false;
}

DType promote(DType a, DType b) { return kPromotion.entry[static_cast<int>(a)][static_cast<int>(b)]; }

namespace {

std::optional<DType> combine_classes(std::optional<DType> higher, std::optional<DType> lower) {
  if (!higher || !lower) return higher ? higher : lower;
  const DTypeCategory high = category(*higher), low = category(*lower);
  if (high == DTypeCategory::Complex) return higher;
  if (high == DTypeCategory::Floating) return low == DTypeCategory::Complex ? complex_of(*higher) : *higher;
  if (high == DTypeCategory::Bool || low >= DTypeCategory::Floating) return promote(*higher, *lower);
  return higher;
}

}  // namespace

DType promote_classes(std::optional<DType> dimensioned, std::optional<DType> zero_dim, std::optional<DType> number) {
  return combine_classes(dimensioned, combine_classes(zero_dim, number)).value_or(default_dtype());
}

bool can_cast(DType from, DType to) {
  // Integers of every width cast into one another; only a loss of category is refused.
  if (category(from) == DTypeCategory::Complex) return category(to) == DTypeCategory::Complex;
  if (category(from) == DTypeCategory::Floating) return category(to) >= DTypeCategory::Floating;
  return category(from) == DTypeCategory::Bool || to != DType::Bool;
}

}  // namespace pellucid
