// The dtypes: names, sizes, categories, formats, PyTorch's promotion.
//
// Generated from src/pellucid_compiler/abi/dtypes.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <cmath>
#include <cstdint>
#include "abi/codes.h"

namespace pellucid {
enum class DType : uint8_t { Bool, UInt8, Int8, Int16, Int32, Int64, Float16, BFloat16, Float32, Float64, Complex64, Complex128 };
constexpr int kNumDTypes = 12;
template <>
inline constexpr int kNumCodes<DType> = kNumDTypes;
enum class DTypeCategory : uint8_t { Bool, Integral, Floating, Complex };

// What elements are in memory; core/element.h defines the types.
struct Boolean;
struct Half;
struct BFloat;
template <class>
struct ComplexOf;
template <DType>
struct ElementOf;
template <>
struct ElementOf<DType::Bool> {
  using Type = Boolean;
};
template <>
struct ElementOf<DType::UInt8> {
  using Type = uint8_t;
};
template <>
struct ElementOf<DType::Int8> {
  using Type = int8_t;
};
template <>
struct ElementOf<DType::Int16> {
  using Type = int16_t;
};
template <>
struct ElementOf<DType::Int32> {
  using Type = int32_t;
};
template <>
struct ElementOf<DType::Int64> {
  using Type = int64_t;
};
template <>
struct ElementOf<DType::Float16> {
  using Type = Half;
};
template <>
struct ElementOf<DType::BFloat16> {
  using Type = BFloat;
};
template <>
struct ElementOf<DType::Float32> {
  using Type = float;
};
template <>
struct ElementOf<DType::Float64> {
  using Type = double;
};
template <>
struct ElementOf<DType::Complex64> {
  using Type = ComplexOf<float>;
};
template <>
struct ElementOf<DType::Complex128> {
  using Type = ComplexOf<double>;
};

// `highest`: of integers; `largest`: of floats and of the parts of complex
// numbers; `mantissa`: bits of these. `real`: the dtype of the parts;
// `complex`: the least complex dtype that holds its values; `pair`: the one
// of its precision, if there is one; `dlpack`: the code of the type there.
struct DTypeFacts {
  const char *torch_name, *word, *formats[2];
  uint8_t dlpack, mantissa;
  bool is_signed, has_pair;
  DType real, complex, pair;
  int64_t highest;
  double largest;
};
inline constexpr DTypeFacts kDTypeFacts[kNumDTypes] = {
    {"torch.bool", "Bool", {"?", nullptr}, 6, 0, false, false, DType::Bool, DType::Complex64, DType::Complex64, INT64_C(1), HUGE_VAL},
    {"torch.uint8", "Byte", {"B", nullptr}, 1, 0, false, false, DType::UInt8, DType::Complex64, DType::Complex64, INT64_C(255), HUGE_VAL},
    {"torch.int8", "Char", {"b", nullptr}, 0, 0, true, false, DType::Int8, DType::Complex64, DType::Complex64, INT64_C(127), HUGE_VAL},
    {"torch.int16", "Short", {"h", nullptr}, 0, 0, true, false, DType::Int16, DType::Complex64, DType::Complex64, INT64_C(32767), HUGE_VAL},
    {"torch.int32", "Int", {"i", nullptr}, 0, 0, true, false, DType::Int32, DType::Complex64, DType::Complex64, INT64_C(2147483647), HUGE_VAL},
    {"torch.int64", "Long", {"l", "q"}, 0, 0, true, false, DType::Int64, DType::Complex64, DType::Complex64, INT64_C(9223372036854775807), HUGE_VAL},
    {"torch.float16", "Half", {"e", nullptr}, 2, 10, true, false, DType::Float16, DType::Complex64, DType::Complex64, INT64_C(0), 0x1.ffc0000000000p+15},
    {"torch.bfloat16", "BFloat16", {nullptr, nullptr}, 4, 7, true, true, DType::BFloat16, DType::Complex64, DType::Complex64, INT64_C(0), 0x1.fe00000000000p+127},
    {"torch.float32", "Float", {"f", nullptr}, 2, 23, true, true, DType::Float32, DType::Complex64, DType::Complex64, INT64_C(0), 0x1.fffffe0000000p+127},
    {"torch.float64", "Double", {"d", nullptr}, 2, 52, true, true, DType::Float64, DType::Complex128, DType::Complex128, INT64_C(0), 0x1.fffffffffffffp+1023},
    {"torch.complex64", "ComplexFloat", {"Zf", nullptr}, 5, 23, true, true, DType::Float32, DType::Complex64, DType::Complex64, INT64_C(0), 0x1.fffffe0000000p+127},
    {"torch.complex128", "ComplexDouble", {"Zd", nullptr}, 5, 52, true, true, DType::Float64, DType::Complex128, DType::Complex128, INT64_C(0), 0x1.fffffffffffffp+1023},
};
// Of dtypes that no tensor has.
struct NamedDType {
  const char* torch_name;
  DTypeCategory category;
  int item_size;
  bool is_signed;
};
inline constexpr NamedDType kNamedDTypes[] = {
    {"torch.float8_e4m3fn", DTypeCategory::Floating, 1, true},
    {"torch.float8_e4m3fnuz", DTypeCategory::Floating, 1, true},
    {"torch.float8_e5m2", DTypeCategory::Floating, 1, true},
    {"torch.float8_e5m2fnuz", DTypeCategory::Floating, 1, true},
    {"torch.float8_e8m0fnu", DTypeCategory::Floating, 1, false},
    {"torch.float4_e2m1fn_x2", DTypeCategory::Floating, 1, true},
    {"torch.uint16", DTypeCategory::Integral, 2, false},
    {"torch.uint32", DTypeCategory::Integral, 4, false},
    {"torch.uint64", DTypeCategory::Integral, 8, false},
    {"torch.complex32", DTypeCategory::Complex, 4, true},
};
inline constexpr uint8_t kItemSizes[kNumDTypes] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16};
inline constexpr DTypeCategory kCategories[kNumDTypes] = {DTypeCategory::Bool, DTypeCategory::Integral, DTypeCategory::Integral, DTypeCategory::Integral, DTypeCategory::Integral, DTypeCategory::Integral, DTypeCategory::Floating, DTypeCategory::Floating, DTypeCategory::Floating, DTypeCategory::Floating, DTypeCategory::Complex, DTypeCategory::Complex};

// Bits over dtypes: those of category floating or complex.
constexpr uint64_t kDifferentiableDTypes = 0xfc0;

// The code of the common dtype: of two tensors with dims, of two without,
// of two numbers.
inline constexpr uint8_t kPromoted[kNumDTypes][kNumDTypes] = {
    { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11},  // bool
    { 1,  1,  3,  3,  4,  5,  6,  7,  8,  9, 10, 11},  // uint8
    { 2,  3,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11},  // int8
    { 3,  3,  3,  3,  4,  5,  6,  7,  8,  9, 10, 11},  // int16
    { 4,  4,  4,  4,  4,  5,  6,  7,  8,  9, 10, 11},  // int32
    { 5,  5,  5,  5,  5,  5,  6,  7,  8,  9, 10, 11},  // int64
    { 6,  6,  6,  6,  6,  6,  6,  8,  8,  9, 10, 11},  // float16
    { 7,  7,  7,  7,  7,  7,  8,  7,  8,  9, 10, 11},  // bfloat16
    { 8,  8,  8,  8,  8,  8,  8,  8,  8,  9, 10, 11},  // float32
    { 9,  9,  9,  9,  9,  9,  9,  9,  9,  9, 11, 11},  // float64
    {10, 10, 10, 10, 10, 10, 10, 10, 10, 11, 10, 11},  // complex64
    {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11},  // complex128
};
// That of operands of which the second counts by its category alone.
inline constexpr uint8_t kRaised[kNumDTypes][kNumDTypes] = {
    { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11},  // bool
    { 1,  1,  1,  1,  1,  1,  6,  7,  8,  9, 10, 11},  // uint8
    { 2,  2,  2,  2,  2,  2,  6,  7,  8,  9, 10, 11},  // int8
    { 3,  3,  3,  3,  3,  3,  6,  7,  8,  9, 10, 11},  // int16
    { 4,  4,  4,  4,  4,  4,  6,  7,  8,  9, 10, 11},  // int32
    { 5,  5,  5,  5,  5,  5,  6,  7,  8,  9, 10, 11},  // int64
    { 6,  6,  6,  6,  6,  6,  6,  6,  6,  6, 10, 10},  // float16
    { 7,  7,  7,  7,  7,  7,  7,  7,  7,  7, 10, 10},  // bfloat16
    { 8,  8,  8,  8,  8,  8,  8,  8,  8,  8, 10, 10},  // float32
    { 9,  9,  9,  9,  9,  9,  9,  9,  9,  9, 11, 11},  // float64
    {10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10},  // complex64
    {11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11},  // complex128
};
}  // namespace pellucid
