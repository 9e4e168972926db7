// Kind: how a tensor without memory of its own is composed of other tensors.
//
// A sparse tensor has component tensors (indices, values) instead of memory. Its storage is empty and owns the
// Kind, so that `detach` and `.data`, which share the storage, also share the components, and one version counts
// the writes to any of them. It carries a key of kKinds, whose fallback computes ops as ops on the components
// (python/kinds.cpp); reading its memory raises. A quantized tensor consists of scales, zero points and integers,
// and has the strides of the integers. A nested tensor consists of the concatenated rows of its examples; its
// structure, which is shared by all tensors with that structure, says which rows belong to which example.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/layout.h"
#include "core/tensor.h"

namespace pellucid {

struct Kind {
  Layout layout;
  uint8_t sparse_dims;             // the leading dims that the indices address
  bool is_coalesced;               // sparse_coo: the indices are sorted and distinct
  std::vector<Tensor> components;  // without history; sparse_coo: indices, values; others: pointers, indices, values;
                                   // quantized: scales, zero points, integers; nested: values
  int8_t axis = -1;  // quantized: the dim that the scales vary along, -1: one scale; jagged: the ragged dim
  std::shared_ptr<void> structure = nullptr;  // nested: how its rules find the examples
};

// Null for a tensor that has memory.
inline Kind* kind_of(const TensorImpl& tensor) {
  return (tensor.keys & kKinds).empty() ? nullptr : static_cast<Kind*>(tensor.storage->context);
}

// A tensor of a kind, on the device of its last component and with the given dtype.
Tensor make_tensor_of_kind(Kind kind, Key key, std::span<const int64_t> sizes, DType dtype);

// For code that needs the memory of such a tensor.
[[noreturn]] void raise_without_memory(const TensorImpl& tensor);

}  // namespace pellucid
