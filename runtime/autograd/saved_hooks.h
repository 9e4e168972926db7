// Hooks on saved tensors: what a pack hook put in a tensor's place, and the way back to the tensor.
//
// OpNode and FunctionNode keep PackedSlots beside their saved values. Python's hooks are
// python/autograd/saved.cpp; whether this thread has any is `thread_state.packs_saved_tensors`.
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

// A saved tensor that hooks hold, with its place in the graph.
struct PackedSlot {
  size_t argument = 0, element = 0;  // which of the node's saved values
  Ref<PackedTensor> packed;
  Ref<Node> source;  // where its gradient goes; null for constants and for the node's own results
  uint32_t source_input = 0;
  int32_t own_result = -1;  // of the node that saved it, else -1

  // `owner`: the node that saved it. With grad mode on the tensor comes back with its history.
  Tensor unpack(Node& owner) const;
};

// `saved`: the tensor as the forward call had it.
PackedSlot pack_slot(TensorImpl& saved, int32_t own_result, const Ref<PackedTensor>& packed);

}  // namespace pellucid
