#include "autograd/saved_hooks.h"

#include "autograd/tensor_history.h"
#include "core/thread_state.h"

namespace pellucid {

Ref<PackedTensor> (*pack_with_hooks)(TensorImpl& tensor) = nullptr;

PackedSlot pack_slot(TensorImpl& saved, int32_t own_result, const Ref<PackedTensor>& packed) {
  PackedSlot slot;
  slot.packed = packed;
  slot.own_result = own_result;
  if (own_result >= 0) return slot;
  const Edge edge = retained_edge(saved);
  slot.source = Ref<Node>::adopt(edge.node);
  slot.source_input = edge.input;
  return slot;
}

Tensor PackedSlot::unpack(Node& owner) const {
  Tensor tensor = packed->unpack();
  if (!thread_state.grad_mode || !is_differentiable(tensor->dtype)) return tensor;
  Tensor alias = detach(*tensor);
  if (own_result >= 0) set_history(*alias, Ref<Node>::share(&owner), static_cast<uint32_t>(own_result));
  else if (source) set_history(*alias, source, source_input);
  return alias;
}

}  // namespace pellucid
