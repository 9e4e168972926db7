// Hooks on saved tensors: what a pack hook returned for a tensor, and how to unpack it.
//
// OpNode and FunctionNode store PackedSlots beside their saved values. Python's hooks are in
// python/autograd/saved.cpp; `thread_state.packs_saved_tensors` says whether this thread has any.
#pragma once

#include "autograd/node.h"
#include "core/ref.h"
#include "core/tensor.h"

namespace pellucid {

// What a pack hook returned, with the hook that unpacks it.
struct PackedTensor : RefCounted {
  virtual ~PackedTensor() = default;
  virtual Tensor unpack() = 0;
};
inline void destroy(PackedTensor* packed) { delete packed; }

// Packs with the innermost hooks of this thread; installed by the bindings.
extern Ref<PackedTensor> (*pack_with_hooks)(TensorImpl& tensor);

// A saved tensor that hooks hold, with its position in the graph.
struct PackedSlot {
  size_t argument = 0, element = 0;  // which of the node's saved values
  Ref<PackedTensor> packed;
  Ref<Node> source;  // where its gradient goes; null for constants and for the node's own results
  uint32_t source_input = 0;
  int32_t own_result = -1;  // its number, if it is a result of the node that saved it; else -1

  // `owner`: the node that saved it. With grad mode on, the tensor is returned with its history.
  Tensor unpack(Node& owner) const;
};

// `saved`: the tensor as the forward call had it.
PackedSlot pack_slot(TensorImpl& saved, int32_t own_result, const Ref<PackedTensor>& packed);

}  // namespace pellucid
