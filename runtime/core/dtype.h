// Element types: names, sizes, categories and PyTorch's promotion lattice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pellucid {

enum class DType : uint8_t {
  Bool,
  UInt8,
  Int8,
  Int16,
  Int32,
  Int64,
  Float16,
  BFloat16,
  Float32,
  Float64,
  Complex64,
  Complex128,
};
constexpr int kNumDTypes = 12;

enum class DTypeCategory : uint8_t { Bool, Integral, Floating, Complex };

constexpr uint8_t kItemSize[kNumDTypes] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
constexpr size_t item_size(DType dtype) { return kItemSize[static_cast<int>(dtype)]; }

constexpr DTypeCategory category(DType dtype) {
  if (dtype == DType::Bool) return DTypeCategory::Bool;
  if (dtype <= DType::Int64) return DTypeCategory::Integral;
  return dtype <= DType::Float64 ? DTypeCategory::Floating : DTypeCategory::Complex;
}
constexpr bool is_differentiable(DType dtype) { return category(dtype) >= DTypeCategory::Floating; }

std::string_view name(DType dtype);  // "float32"
bool parse_dtype(std::string_view name, DType& out);
DType promote(DType a, DType b);  // both tensors of dimension, or both numbers
// What results from tensors of dimension, 0-d tensors and numbers together: a lower rank only counts
// when its category is higher. An absent class is std::nullopt.
DType promote_classes(std::optional<DType> dimensioned, std::optional<DType> zero_dim, std::optional<DType> number);
bool can_cast(DType from, DType to);  // PyTorch's rule for in-place and out=

}  // namespace pellucid
