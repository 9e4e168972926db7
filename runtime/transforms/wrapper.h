// Tensors of a transform's level: what an op sees is one example, or a value with its tangent.
//
// The outer TensorImpl has the geometry of what the op sees and the memory of what it wraps, which is looked
// up when it is read (find_memory). A dual tensor's memory is that of its primal, `value`. A batched tensor's
// examples are along dimension 0 of `value`; its memory cannot be read, since no single example owns it, unless
// it is *uniform*: reverse mode inside vmap has a row for every example also of what they share, because
// each has its own gradient, and what is computed from such rows alone is as good as unbatched.
#pragma once

#include <vector>

#include "core/tensor.h"
#include "transforms/level.h"

namespace pellucid {

struct Wrapper {
  uint64_t level;
  LevelKind kind;
  Tensor value;
  Tensor tangent;          // of a dual tensor; like `value` in shape and dtype
  bool uniform = false;    // of a batched tensor: all examples are equal, and there is one
  bool was_plain = false;  // of a uniform one: it became batched by a write, and ends with its level
};

Tensor make_batched(Tensor value, uint64_t level, bool uniform = false);
Tensor make_dual(Tensor primal, Tensor tangent, uint64_t level);
// `tensor` itself becomes a dual tensor: an in-place op gave it a tangent.
void make_dual_in_place(TensorImpl& tensor, Tensor tangent, uint64_t level);
// `tensor` itself becomes a batched tensor, for what will be written to it; so does what it is a view of.
void make_batched_in_place(TensorImpl& tensor, const Level& level, bool uniform);
// The same at all levels at which `source` is batched and `tensor` is not.
void make_batched_as(TensorImpl& tensor, const TensorImpl& source);
// `result`, a wrapper, is a view of `source`: what becomes of the base by a write becomes of the view.
void set_base(TensorImpl* result, TensorImpl& source);
// Whether the base of `view` became a wrapper at a level that `view` has not; then `view` is made the same view of it.
bool fell_behind_base(const TensorImpl& view);
void follow_base(TensorImpl& view);
// Lets the storage of a wrapper be that of what it wraps; raises where examples differ.
void find_memory(TensorImpl& tensor);

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

// A copy with this geometry; each example and each tangent has it.
Tensor copied(TensorImpl& tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset);
// The elements that a tensor of this geometry spans in memory.
int64_t reach(std::span<const int64_t> sizes, std::span<const int64_t> strides);
inline std::vector<int64_t> with_first(int64_t first, std::span<const int64_t> rest) {
  std::vector<int64_t> whole{first};
  whole.insert(whole.end(), rest.begin(), rest.end());
  return whole;
}
// Arbitrary values of these sizes, batched where `like` is.
Tensor empty_wrapped(const TensorImpl& like, std::span<const int64_t> sizes, DType dtype);

// What core/ asks of wrappers (core/hooks.h); once, at start-up.
void install_wrapper_hooks();

}  // namespace pellucid
