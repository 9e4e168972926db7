// Kind: how a tensor is stored that has no memory of its own but is made of other tensors.
//
// A sparse tensor has component tensors (indices, values) in place of memory. Its storage is empty and owns the Kind,
// so that `detach` and `.data`, which share the storage, share the components, and a version counts writes to any of
// them. It carries its key of kKinds, whose fallback computes ops by ops on the components (python/kinds.cpp); reading
// its memory raises. A quantized tensor is made of scales, zero points and integers, whose strides it has. A nested tensor
// is made of the rows of all its examples; its structure says which rows are whose, and is shared by all tensors of it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/layout.h"
#include "core/tensor.h"

namespace pellucid {

struct Kind {
  Layout layout;
  uint8_t sparse_dims;             // the leading dims that indices are of
  bool is_coalesced;               // of sparse_coo: the indices are sorted and distinct
  std::vector<Tensor> components;  // without history; sparse_coo: indices, values; others: pointers, indices, values;
                                   // quantized: scales, zero points, integers; nested: values
  int8_t axis = -1;                // of quantized: the dim that scales are of, -1: one scale; of jagged: the ragged dim
  std::shared_ptr<void> structure = nullptr;  // of nested: whatever its rules know the examples by
};

// Null for a tensor that has memory.
inline Kind* kind_of(const TensorImpl& tensor) {
  return (tensor.keys & kKinds).empty() ? nullptr : static_cast<Kind*>(tensor.storage->context);
}

// A tensor of a kind; the device is that of its last component, the dtype what the caller says.
Tensor make_tensor_of_kind(Kind kind, Key key, std::span<const int64_t> sizes, DType dtype);

// For code that reads memory of such a tensor.
[[noreturn]] void raise_without_memory(const TensorImpl& tensor);

}  // namespace pellucid
