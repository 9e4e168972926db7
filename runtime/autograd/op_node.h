// OpNode: the node of every op. One block holds the node, its edges, what its gradients look like,
// and the arguments of the derivative op as far as they are known at forward time.
//
// `apply` fills the gradients in and calls the derivative op, which is an op like any other.
#pragma once

#include "autograd/derivative.h"
#include "autograd/node.h"
#include "autograd/saved_hooks.h"

namespace pellucid {

// How a Value of `OpNode::saved` that holds a tensor came about: in `Value::reserved`. The version
// it was saved at is in `Value::length`.
constexpr uint16_t kSavedArgument = 0;   // else: 1 + the number of the forward result
constexpr uint16_t kHadHistory = 1 << 15;  // beside it: an argument that an op had computed, and no view
inline int32_t result_number(const Value& slot) { return (slot.reserved & ~kHadHistory) - 1; }   // -1: an argument

struct OpNode final : Node {
  const OpRecord* op;              // the functional record
  const DerivativePlan* plan;
  Value* saved;                    // one per argument of plan->op; tensors and lists are owned

  OpNode(const OpRecord* op, const DerivativePlan* plan) : op(op), plan(plan) {}
  void apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph) override;
  void release_saved() override;
  std::string name() const override;
  void free_memory() override;

  // Takes the forward results that the plan saves: without grad_fn and view base, so that nothing is
  // kept alive by itself. For in-place ops called after the write.
  void save_results(const OpCall& call);
  // Takes its share of what the plan's forward op gave behind the results.
  void save_kept(std::span<const Tensor> kept);
  // Gives every saved tensor to this thread's pack hooks, which see results with their history.
  void pack_saved(const OpCall& call);
  // Replaces one saved tensor by what a pack hook made of it.
  void pack(size_t argument, size_t element, PackedSlot slot);
  const PackedSlot* packed_slot(size_t argument, size_t element) const;   // null: no hook holds it
  // The tensor that `saved[argument]` (an element of it, for lists) stands for; raises when it was
  // freed or changed. With grad mode on a result comes back with this node as its history.
  Tensor unpack(size_t argument, size_t element = 0);

 private:
  void compute(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph);   // by the plan's op
};

// The node of a call that has `call.rets` (see find_derivative): edges, gradient infos and saved
// arguments. An argument that the call writes is saved as a clone.
Ref<OpNode> make_op_node(const OpCall& call, const DerivativePlan& plan);

// Calls visit(tensor or null) for each input as derivative.h numbers them.
template <class Visit>
inline void for_each_input(const OpCall& call, Visit&& visit) {
  for (uint32_t mask = call.op->schema.tensor_arguments; mask; mask &= mask - 1) {
    const Value& value = call.args[__builtin_ctz(mask)];
    if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList)
      for (TensorImpl* tensor : value.list()) visit(tensor);
    else visit(value.tag == Tag::Tensor ? value.tensor : nullptr);
  }
}
// Likewise for results, lists flattened.
template <class Visit>
inline void for_each_result(const OpCall& call, Visit&& visit) {
  const size_t count = call.op->schema.returns.size();
  for (size_t i = 0; i < count; ++i) {
    const Value& value = call.rets[i];
    if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList)
      for (TensorImpl* tensor : value.list()) visit(tensor);
    else visit(value.tag == Tag::Tensor ? value.tensor : nullptr);
  }
}

}  // namespace pellucid
