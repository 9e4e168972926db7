// The tensors of a transform's level: an op sees one example, or a value with its tangent.
//
// The outer TensorImpl has the geometry that the op sees and the memory of what it wraps, which is looked up when
// it is accessed (find_memory). A dual tensor's memory is that of its primal, `value`. A batched tensor's
// examples are along dimension 0 of `value`; its memory cannot be read, since no single example owns it, unless
// it is *uniform*: reverse mode inside vmap has a row per example even for values that they share, because each
// example has its own gradient, and results computed only from such rows count as unbatched.
#pragma once

#include <vector>

#include "core/tensor.h"
#include "transforms/level.h"

namespace pellucid {

struct Wrapper {
  uint64_t level;
  LevelKind kind;
  Tensor value;
  Tensor tangent;          // of a dual tensor; same shape and dtype as `value`
  bool uniform = false;    // of a batched tensor: all examples are equal, and there is at least one
  bool was_plain = false;  // of a uniform one: it became batched by a write, and is unwrapped when its level ends
  bool for_view = false;   // the value is a copy in place of a view, or a view of one: writing to it is refused
};

Tensor make_batched(Tensor value, uint64_t level, bool uniform = false);
Tensor make_dual(Tensor primal, Tensor tangent, uint64_t level);
// Makes `tensor` itself a dual tensor, because an in-place op gave it a tangent.
void make_dual_in_place(TensorImpl& tensor, Tensor tangent, uint64_t level);
// Makes `tensor` itself a batched tensor, because batched values will be written to it; likewise the tensor it is
// a view of.
void make_batched_in_place(TensorImpl& tensor, const Level& level, bool uniform);
// The same at all levels at which `source` is batched and `tensor` is not.
void make_batched_as(TensorImpl& tensor, const TensorImpl& source);
inline bool is_for_view(const TensorImpl* tensor) { return tensor && tensor->wrapper && tensor->wrapper->for_view; }
// Marks the wrapper `result` as a view of `source`: when a write wraps the base, the view follows.
void set_base(TensorImpl* result, TensorImpl& source);
// Whether the base of `view` became a wrapper at a level at which `view` is none; `follow_base` makes `view` the
// same view of the wrapper.
bool fell_behind_base(const TensorImpl& view);
void follow_base(TensorImpl& view);
// Makes the storage of a wrapper that of the tensor it wraps; raises if examples differ.
void find_memory(TensorImpl& tensor);

// `tensor` without the wrappers of dead levels.
TensorImpl* without_dead_levels(TensorImpl* tensor);
// The wrapper of `tensor` at `level`, or null.
inline Wrapper* wrapper_at(TensorImpl* tensor, uint64_t level) {
  return tensor && tensor->wrapper && tensor->wrapper->level == level ? tensor->wrapper : nullptr;
}
// The primal inside all dual wrappers: what backward() from `tensor` refers to.
TensorImpl* primal_of(TensorImpl* tensor);
// The plain tensor inside all wrappers.
inline TensorImpl* innermost_value(TensorImpl* tensor) {
  while (tensor->wrapper) tensor = tensor->wrapper->value.get();
  return tensor;
}

// A copy with this geometry, which each example and each tangent has.
Tensor copied(TensorImpl& tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset);
// The number of elements that a tensor of this geometry spans in memory.
int64_t reach(std::span<const int64_t> sizes, std::span<const int64_t> strides);
inline std::vector<int64_t> with_first(int64_t first, std::span<const int64_t> rest) {
  std::vector<int64_t> whole{first};
  whole.insert(whole.end(), rest.begin(), rest.end());
  return whole;
}
// Uninitialised values of these sizes, batched at the levels at which `like` is.
Tensor empty_wrapped(const TensorImpl& like, std::span<const int64_t> sizes, DType dtype);

// Installs the hooks that core/ needs for wrappers (core/hooks.h); called once, at start-up.
void install_wrapper_hooks();

}  // namespace pellucid
