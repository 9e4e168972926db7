// Tensors of a transform's level: what an op sees is one example, or a value with its tangent.
//
// The outer TensorImpl has the geometry of what the op sees and the memory of what it wraps. A batched
// tensor's examples lie along dimension 0 of `value`; its memory cannot be read, since it is no one
// example's. A dual tensor's memory is that of its primal, `value`.
#pragma once

#include "core/tensor.h"
#include "transforms/level.h"

namespace pellucid {

struct Wrapper {
  uint64_t level;
  LevelKind kind;
  Tensor value;
  Tensor tangent;        // of a dual tensor; like `value` in shape and dtype
};

Tensor make_batched(Tensor value, uint64_t level);
Tensor make_dual(Tensor primal, Tensor tangent, uint64_t level);
// `tensor` itself becomes a dual tensor: an in-place op gave it a tangent.
void become_dual(TensorImpl& tensor, Tensor tangent, uint64_t level);

// What `tensor` is once the wrappers of dead levels are taken off.
TensorImpl* without_dead_levels(TensorImpl* tensor);
// The wrapper of `tensor` at `level`, or null.
inline Wrapper* wrapper_at(TensorImpl* tensor, uint64_t level) {
  return tensor && tensor->wrapper && tensor->wrapper->level == level ? tensor->wrapper : nullptr;
}
// The primal below all dual wrappers: what backward() from `tensor` means.
TensorImpl* primal_of(TensorImpl* tensor);
// The plain tensor inside all wrappers.
inline TensorImpl* innermost_value(TensorImpl* tensor) {
  while (tensor->wrapper) tensor = tensor->wrapper->value.get();
  return tensor;
}

// Arbitrary values of these sizes, batched where `like` is.
Tensor empty_wrapped(const TensorImpl& like, std::span<const int64_t> sizes, DType dtype);

}  // namespace pellucid
