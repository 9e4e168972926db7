// Values that outlive a call: copies of boxed arguments inside a node's block.
#pragma once

#include "core/value.h"

namespace pellucid {

inline bool is_tensor_list(const Value& value) {
  return value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList;
}

// Bytes, in multiples of 8, that `value` points to and that a copy must bring along.
size_t payload_bytes(const Value& value);
// A copy whose memory starts at `cursor`, which moves on. Tensor lists take a count of each tensor
// and are followed by one version (uint32_t) per element.
Value copy_value(const Value& value, char*& cursor);
inline uint32_t* versions_of(const Value& list) {
  return reinterpret_cast<uint32_t*>(const_cast<TensorImpl**>(list.tensors) + list.length);
}
// Gives back the tensors that a copied value owns.
void drop_value(Value& value);

}  // namespace pellucid
