// OpNode: the node of every op. One block holds the node, its edges, and those arguments of the derivative op
// that are known at forward time; its NodeFacts hold what nodes of such calls share.
//
// `apply` adds the gradients to the arguments and calls the derivative op, which is an op like any other.
#pragma once

#include "autograd/derivative.h"
#include "autograd/node.h"
#include "autograd/node_facts.h"
#include "autograd/saved_hooks.h"
#include "autograd/tensor_history.h"
#include "core/inline_vector.h"

namespace pellucid {

// The origin of a tensor in `OpNode::saved`, stored in `Value::reserved`. The version at which it was saved is in
// `Value::length`.
constexpr uint16_t kSavedArgument = 0;     // otherwise 1 + the number of the forward result
constexpr uint16_t kHadHistory = 1 << 15;  // a flag: an argument that an op had computed, and not a view
inline int32_t result_number(const Value& slot) { return (slot.reserved & ~kHadHistory) - 1; }  // -1: an argument

struct OpNode final : Node {
  const Ref<NodeFacts> facts;
  Value* saved = nullptr;  // one per argument of plan->op; tensors and lists are owned

  explicit OpNode(Ref<NodeFacts> shared) : facts(std::move(shared)) {}
  const OpRecord& op() const { return *facts->op; }
  const DerivativePlan& plan() const { return *facts->plan; }
  void apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph) override;
  void release_saved() override;
  std::string name() const override;
  const void* timeline_identity(uint8_t& flags) const override {
    return plan().node_name.empty() ? &op() : Node::timeline_identity(flags);
  }
  void free_memory() override;

  // Saves the forward results that the plan reads, without grad_fn and view base, so that no result keeps itself
  // alive. For in-place ops this is called after the write.
  void save_results(const OpCall& call);
  // Saves the results that the plan leaves out, for a call that dispatch modes or subclasses watch: the gradient op
  // that they see may read more results, as `native_layer_norm_backward` reads the mean.
  void save_watched_results(const OpCall& call);
  // Saves its part of what the plan's forward op returned after the results.
  void save_extra(std::span<const Tensor> extra);
  // Passes every saved tensor to this thread's pack hooks, which see results with their history.
  void pack_saved(const OpCall& call);
  // Replaces one saved tensor by what a pack hook returned for it.
  void pack(size_t argument, size_t element, PackedSlot slot);
  const PackedSlot* packed_slot(size_t argument, size_t element) const;  // null: no hook holds it
  // The tensor in `slot` of `saved`; null if it has been changed since, was passed to hooks, or does not exist.
  TensorImpl* unchanged(const Value& slot) const;
  // The tensor in `saved[argument]` (an element of it, for lists); raises if it was freed or changed. With grad
  // mode on, a result is returned with this node as its history.
  Tensor unpack(size_t argument, size_t element = 0);

 private:
  void compute(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph);  // by the plan's op
  void dispatch_derivative(std::span<Tensor> grads_in, Value* rets, bool create_graph);
  void find_spent(std::span<Tensor> grads_in, const OpCall& call, InlineVector<TensorImpl*, 4>& spent) const;
};

// Whether a backward pass over the node needs nothing of its forward call any more, or refuses: what it saved was
// freed, or it saved nothing; likewise all nodes that it leads to, of which none has hooks.
bool is_spent(Node& node);
// A node like `node`, which is spent, as if its op had been called once more and its graph used up likewise.
Ref<OpNode> copy_of_spent(const OpNode& node);
// The default name of an op's node, unless its plan has one: "MulBackward0".
std::string node_name(const OpRecord& op);

inline TensorImpl* OpNode::unchanged(const Value& slot) const {
  if (slot.tag != Tag::Tensor || !slot.tensor) [[unlikely]]
    return nullptr;
  const bool lost_history = slot.reserved == kHadHistory && !has_grad_fn(*slot.tensor);
  const bool was_changed = slot.tensor->version().load(std::memory_order_relaxed) != slot.length;
  return lost_history || was_changed ? nullptr : slot.tensor;
}

// Makes the node of a call with these facts: edges and saved arguments. An argument that the call writes, which
// is then in `call.rets`, is saved as a clone.
Ref<OpNode> make_op_node(const OpCall& call, Ref<NodeFacts> facts);

}  // namespace pellucid
