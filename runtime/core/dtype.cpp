#include "core/dtype.h"

#include <algorithm>

#include "core/defaults.h"
#include "core/error.h"

namespace pellucid {
namespace {

constexpr size_t kPrefix = sizeof("torch.") - 1;

std::optional<DType> raise_category(std::optional<DType> deciding, std::optional<DType> other) {
  if (!deciding || !other) return deciding ? deciding : other;
  const uint8_t code = kRaised[static_cast<int>(*deciding)][static_cast<int>(*other)];
  if (code == kNoDType) raise_unpromoted(*deciding, *other);
  return static_cast<DType>(code);
}

}  // namespace

void raise_without_values(const char* op, DType dtype) {
  const std::string_view word = facts_of(dtype).word;
  raise(ErrorKind::NotImplemented,
        "\"%s\" not implemented for '%s': its elements have no value; view them as another dtype", op,
        word.substr(word.find('.') + 1).data());
}

void raise_unpromoted(DType a, DType b) {
  const auto rank = [](DType dtype) { return kRefusalRanks[static_cast<int>(dtype)]; };
  raise(ErrorKind::Runtime, kRefusedPromotion, kRefusals[std::max(rank(a), rank(b))], facts_of(a).word,
        facts_of(b).word);
}

std::string_view name(DType dtype) { return facts_of(dtype).torch_name + kPrefix; }

DType promote_classes(std::optional<DType> dimensioned, std::optional<DType> zero_dim, std::optional<DType> number) {
  return raise_category(dimensioned, raise_category(zero_dim, number)).value_or(default_dtype());
}

bool can_cast(DType from, DType to) {
  // Integers of any width cast into one another; only a cast to a lower category is refused.
  if (category(from) == DTypeCategory::Complex) return category(to) == DTypeCategory::Complex;
  if (category(from) == DTypeCategory::Floating) return category(to) >= DTypeCategory::Floating;
  return category(from) == DTypeCategory::Bool || to != DType::Bool;
}

}  // namespace pellucid
