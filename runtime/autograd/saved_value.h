// Copies of boxed values that outlive a call inside a node's block.
#pragma once

#include <cstddef>

#include "core/value.h"

namespace pellucid {

inline bool is_tensor_list(const Value& value) {
  return value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList;
}

// Whether the value is self-contained: a tensor, a number, a dtype, nothing.
inline bool is_plain(const Value& value) {
  constexpr uint32_t kPointing = 1u << static_cast<int>(Tag::Complex) | 1u << static_cast<int>(Tag::IntList) |
                                 1u << static_cast<int>(Tag::FloatList) | 1u << static_cast<int>(Tag::BoolList) |
                                 1u << static_cast<int>(Tag::TensorList) |
                                 1u << static_cast<int>(Tag::OptionalTensorList) |
                                 1u << static_cast<int>(Tag::ScalarList) | 1u << static_cast<int>(Tag::String) |
                                 1u << static_cast<int>(Tag::Generator) | 1u << static_cast<int>(Tag::Object);
  return !(kPointing >> static_cast<int>(value.tag) & 1);
}

// Bytes, a multiple of 8, of the memory that `value` points to and a copy needs.
size_t payload_bytes(const Value& value);
// Copies a value, placing its memory at `cursor`, which is advanced. Tensor lists take a reference to each tensor
// and are followed by one version (uint32_t) per element.
Value copy_value(const Value& value, char*& cursor);
inline uint32_t* versions_of(const Value& list) {
  return reinterpret_cast<uint32_t*>(const_cast<TensorImpl**>(list.tensors) + list.length);
}
// Releases the tensors of a copied list.
void drop_list(const Value& value);

}  // namespace pellucid
