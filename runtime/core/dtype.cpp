#include "core/dtype.h"

#include "core/defaults.h"

namespace pellucid {
namespace {

constexpr size_t kPrefix = sizeof("torch.") - 1;

std::optional<DType> raise_category(std::optional<DType> deciding, std::optional<DType> other) {
  if (!deciding || !other) return deciding ? deciding : other;
  return static_cast<DType>(kRaised[static_cast<int>(*deciding)][static_cast<int>(*other)]);
}

}  // namespace

std::string_view name(DType dtype) { return facts_of(dtype).torch_name + kPrefix; }

bool parse_dtype(std::string_view text, DType& out) {
  for (int code = 0; code < kNumDTypes; ++code)
    if (text == kDTypeFacts[code].torch_name + kPrefix) return out = static_cast<DType>(code), true;
  return false;
}

DType promote_classes(std::optional<DType> dimensioned, std::optional<DType> zero_dim, std::optional<DType> number) {
  return raise_category(dimensioned, raise_category(zero_dim, number)).value_or(default_dtype());
}

bool can_cast(DType from, DType to) {
  // Integers of every width cast into one another; only a loss of category is refused.
  if (category(from) == DTypeCategory::Complex) return category(to) == DTypeCategory::Complex;
  if (category(from) == DTypeCategory::Floating) return category(to) >= DTypeCategory::Floating;
  return category(from) == DTypeCategory::Bool || to != DType::Bool;
}

}  // namespace pellucid
