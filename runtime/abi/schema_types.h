// The types of arguments in schemas, and the names of default values.
//
// Generated from src/pellucid_compiler/abi/schema_types.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <cstdint>
#include <string_view>

namespace pellucid {
enum class ArgType : uint8_t { Tensor, TensorOrScalar, TensorList, OptionalTensorList, Scalar, ScalarList, Int, SymInt, Float, Bool, String, IntList, SymIntList, FloatList, BoolList, DType, Device, Layout, MemoryFormat, Generator, Object };

// `list`: of a list of such values; `list_of_optional`: some may be None.
struct ArgTypeFacts {
  std::string_view text;
  bool is_static, holds_tensors, is_ignored;
  ArgType list, list_of_optional;
};
inline constexpr ArgTypeFacts kArgTypes[] = {
    {"Tensor", false, true, false, ArgType::TensorList, ArgType::OptionalTensorList},
    {"Tensor|Scalar", false, true, false, ArgType::Object, ArgType::Object},
    {"Tensor[]", false, true, false, ArgType::Object, ArgType::Object},
    {"Tensor?[]", false, true, false, ArgType::Object, ArgType::Object},
    {"Scalar", false, false, false, ArgType::ScalarList, ArgType::Object},
    {"Scalar[]", false, false, false, ArgType::Object, ArgType::Object},
    {"int", true, false, false, ArgType::IntList, ArgType::Object},
    {"SymInt", false, false, false, ArgType::SymIntList, ArgType::Object},
    {"float", false, false, false, ArgType::FloatList, ArgType::Object},
    {"bool", true, false, false, ArgType::BoolList, ArgType::Object},
    {"str", true, false, false, ArgType::Object, ArgType::Object},
    {"int[]", true, false, false, ArgType::Object, ArgType::Object},
    {"SymInt[]", false, false, false, ArgType::Object, ArgType::Object},
    {"float[]", false, false, false, ArgType::Object, ArgType::Object},
    {"bool[]", true, false, false, ArgType::Object, ArgType::Object},
    {"ScalarType", true, false, false, ArgType::Object, ArgType::Object},
    {"Device", true, false, true, ArgType::Object, ArgType::Object},
    {"Layout", true, false, true, ArgType::Object, ArgType::Object},
    {"MemoryFormat", true, false, true, ArgType::Object, ArgType::Object},
    {"Generator", false, false, true, ArgType::Object, ArgType::Object},
    {"", true, false, true, ArgType::Object, ArgType::Object},
};
inline constexpr std::string_view kObjectWords[] = {"complex", "Storage", "Stream", "QScheme", "SymBool", "Dimname", "NoneType", "Any", "AnyEnumType", "AnyClassType", "AnyListType", "AnyTupleType", "Capsule", "ConstQuantizerPtr", "DeviceIndex", "Dict(Tensor, Tensor)"};

// Names that schemas use as defaults, with PyTorch's numbers.
struct NamedDefault {
  std::string_view text;
  int64_t integer;
};
inline constexpr NamedDefault kNamedDefaults[] = {
    {"Mean", 1},
    {"contiguous_format", 0},
    {"strided", 0},
    {"bool", 11},
    {"uint8", 0},
    {"int8", 1},
    {"int16", 2},
    {"int32", 3},
    {"int64", 4},
    {"float16", 5},
    {"bfloat16", 15},
    {"float32", 6},
    {"float64", 7},
    {"complex64", 9},
    {"complex128", 10},
    {"uint16", 27},
    {"uint32", 28},
    {"uint64", 29},
    {"complex32", 8},
    {"float8_e4m3fn", 24},
    {"float8_e4m3fnuz", 26},
    {"float8_e5m2", 23},
    {"float8_e5m2fnuz", 25},
    {"float8_e8m0fnu", 44},
    {"float4_e2m1fn_x2", 45},
    {"uint1", 30},
    {"uint2", 31},
    {"uint3", 32},
    {"uint4", 33},
    {"uint5", 34},
    {"uint6", 35},
    {"uint7", 36},
    {"int1", 37},
    {"int2", 38},
    {"int3", 39},
    {"int4", 40},
    {"int5", 41},
    {"int6", 42},
    {"int7", 43},
    {"bits1x8", 18},
    {"bits2x4", 19},
    {"bits4x2", 20},
    {"bits8", 21},
    {"bits16", 22},
    {"qint8", 12},
    {"quint8", 13},
    {"qint32", 14},
    {"quint4x2", 16},
    {"quint2x4", 17},
    {"short", 2},
    {"int", 3},
    {"long", 4},
    {"half", 5},
    {"float", 6},
    {"double", 7},
    {"chalf", 8},
    {"cfloat", 9},
    {"cdouble", 10},
    {"bit", 30},
};
}  // namespace pellucid
