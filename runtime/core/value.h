// Value: one boxed argument or result of an op: a 16-byte tagged word on the C stack.
//
// Arguments are borrowed: the caller keeps them alive during the call. Results are owned: the callee hands over
// one reference per tensor (and a `TensorList` block made by new TensorImpl*[n], which the caller deletes), and
// the caller must take it.
#pragma once

#include <cstdint>
#include <span>

#include "core/dtype.h"
#include "core/tensor.h"

namespace pellucid {

enum class Tag : uint8_t {
  None,
  Tensor,
  Int,
  Float,
  Bool,
  Complex,
  IntList,
  FloatList,
  BoolList,
  TensorList,
  OptionalTensorList,
  ScalarList,
  DType,
  Device,
  Layout,
  MemoryFormat,
  String,
  Generator,
  Object,
};

struct Complex {
  double real, imag;
};
struct StringView {
  const char* data;
};

struct Value {
  Tag tag = Tag::None;
  bool broadcast_list = false;  // IntList given as a single int for int[n]
  uint16_t reserved = 0;
  uint32_t length = 0;  // of lists and strings
  union {
    int64_t integer;
    double number;
    TensorImpl* tensor;
    const int64_t* integers;
    const double* numbers;
    TensorImpl* const* tensors;  // elements may be null in OptionalTensorList
    const Value* values;
    const Complex* complex;
    const char* string;
    void* object;
  };

  Value() : integer(0) {}
  static Value of(TensorImpl* t) {
    Value v;
    v.tag = t ? Tag::Tensor : Tag::None;
    v.tensor = t;
    return v;
  }
  static Value of_int(int64_t i) {
    Value v;
    v.tag = Tag::Int;
    v.integer = i;
    return v;
  }
  static Value of_float(double d) {
    Value v;
    v.tag = Tag::Float;
    v.number = d;
    return v;
  }
  static Value of_bool(bool b) {
    Value v;
    v.tag = Tag::Bool;
    v.integer = b;
    return v;
  }
  static Value of_dtype(DType d) {
    Value v;
    v.tag = Tag::DType;
    v.integer = static_cast<int>(d);
    return v;
  }
  static Value of(std::span<const int64_t> list) {
    Value v;
    v.tag = Tag::IntList;
    v.length = static_cast<uint32_t>(list.size());
    v.integers = list.data();
    return v;
  }
  static Value of(std::span<TensorImpl* const> list) {
    Value v;
    v.tag = Tag::TensorList;
    v.length = static_cast<uint32_t>(list.size());
    v.tensors = list.data();
    return v;
  }
  bool is_none() const { return tag == Tag::None; }
  bool is_tensor() const { return tag == Tag::Tensor; }
  bool is_number() const { return tag == Tag::Int || tag == Tag::Float || tag == Tag::Bool || tag == Tag::Complex; }
  double as_double() const { return tag == Tag::Float ? number : static_cast<double>(integer); }
  std::span<const int64_t> ints() const { return {integers, length}; }
  std::span<TensorImpl* const> list() const { return {tensors, length}; }
};
static_assert(sizeof(Value) == 16);

}  // namespace pellucid
