#include "autograd/op_node.h"

#include "autograd/node_streams.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <memory>
#include <new>
#include <unordered_set>
#include <vector>

#include "autograd/anomaly.h"
#include "autograd/gradient_ops.h"
#include "autograd/handler.h"
#include "autograd/hooks.h"
#include "autograd/saved_value.h"
#include "autograd/tensor_history.h"
#include "core/allocator.h"
#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/donation.h"
#include "core/error.h"
#include "core/inline_vector.h"
#include "core/owned_results.h"
#include "core/recording.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

using From = ArgumentSource::From;

bool is_written(const OpCall& call, const TensorImpl* tensor) {
  if (call.op->variant != Variant::InPlace) return false;
  bool written = false;
  for_each_result(call, [&](TensorImpl* result) { written |= result == tensor; });
  return written;
}

// The value before the write, with its history.
TensorImpl* clone_of_written(TensorImpl& tensor) {
  const Edge edge = retained_edge(tensor);
  Tensor copy;
  {
    ExcludeKeys below(kHistoryKeys);
    copy = clone(tensor);
  }
  if (edge.node) set_history(*copy, Ref<Node>::adopt(edge.node), edge.input);
  return copy.leak();
}

[[noreturn]] void refuse_inference(const OpCall& call) {
  raise(ErrorKind::Runtime,
        "%s: Inference tensors cannot be saved for backward: their in-place changes are not counted.\n"
        "Clone the tensor to get an ordinary one, or make it under no_grad() instead of inference_mode().",
        call.op->schema.name.c_str());
}

void save_tensor(Value& slot, const OpCall& call, TensorImpl* tensor) {
  if (tensor->flags & TensorImpl::kInference) [[unlikely]]
    refuse_inference(call);
  if (is_written(call, tensor)) [[unlikely]]
    tensor = clone_of_written(*tensor);
  else tensor->retain();
  slot = Value::of(tensor);
  const bool computed = tensor->autograd && tensor->autograd->grad_fn && !tensor->base;
  slot.reserved = computed ? kHadHistory : kSavedArgument;
  slot.length = tensor->version().load(std::memory_order_relaxed);
}

void save_arguments(OpNode& node, const OpCall& call, char* cursor) {
  const NodeFacts& facts = *node.facts;
  std::copy_n(facts.constants, facts.plan->arguments.size(), node.saved);
  for (uint32_t rest = facts.tensors; rest; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const ArgumentSource& source = facts.plan->arguments[static_cast<size_t>(i)];
    const Value& value = call.args[source.index];
    if (!is_tensor_list(value)) save_tensor(node.saved[i], call, value.tensor);
    else if (source.element < 0) node.saved[i] = copy_value(value, cursor);
    else if (TensorImpl* tensor = value.tensors[source.element]) save_tensor(node.saved[i], call, tensor);
  }
}

// "output 0 of ExpBackward0", for the message about a changed value.
std::string origin(const OpNode& node, const Value& slot, TensorImpl& tensor) {
  if (result_number(slot) >= 0)
    return "result " + std::to_string(result_number(slot)) + " of " + node.op().qualified_name;
  if (Node* made_by = tensor.base ? nullptr : grad_fn(tensor))
    return "output " + std::to_string(tensor.autograd->output_number) + " of " + made_by->name();
  return "an argument of " + node.op().qualified_name;
}

[[noreturn]] void raise_changed(const OpNode& node, const Value& slot, TensorImpl& tensor, uint32_t saved_version) {
  const std::string writer = writer_of(tensor, saved_version + 1);
  raise(ErrorKind::Runtime,
        "one of the variables needed for gradient computation has been modified by an inplace operation\n"
        "after %s saved it:\n"
        "%s, %s, is at version %u; expected version %u.\n"
        "Use an out-of-place op or clone the tensor before changing it. %s%s",
        node.name().c_str(), type_and_shape(tensor.dtype, tensor.shape()).c_str(), origin(node, slot, tensor).c_str(),
        tensor.version().load(), saved_version,
        writer.empty() ? "To see which op changed it and where, run\n"
                         "the forward pass under torch.autograd.set_detect_anomaly(True)."
                       : "It was changed by ",
        writer.c_str());
}

[[noreturn]] void raise_released(const Node& node) {
  raise(ErrorKind::Runtime,
        "Trying to backward through the graph a second time: the values that %s saved were freed by the first pass.\n"
        "Pass retain_graph=True to the first backward() or grad() call if a second one is needed, or\n"
        "compute the forward pass again.",
        node.name().c_str());
}

[[noreturn]] void raise_detached(const OpNode& node) {
  raise(ErrorKind::Runtime,
        "%s needs a saved tensor that has been detached in-place by detach_(): its history is gone.\n"
        "Use the out-of-place detach(), or call detach_() after the backward pass.",
        node.name().c_str());
}

// A result in a form that its own node can hold without a reference cycle. Only results with a history are
// aliased for modes; integers are held as they are.
Tensor apart_from_history(TensorImpl& result) {
  const bool has_none = !is_differentiable(result.dtype) && dispatches_to_python(result.keys);
  return has_none ? Tensor::share(&result) : detached(result);
}

inline void check_version(const OpNode& node, const Value& slot, TensorImpl& tensor, uint32_t saved_version) {
  if (slot.reserved == kHadHistory && !has_grad_fn(tensor)) [[unlikely]]
    raise_detached(node);
  if (tensor.version().load(std::memory_order_relaxed) != saved_version) [[unlikely]]
    raise_changed(node, slot, tensor, saved_version);
}

void check_list(const OpNode& node, const Value& slot) {
  for (uint32_t i = 0; i < slot.length; ++i)
    if (slot.tensors[i]) check_version(node, slot, *slot.tensors[i], versions_of(slot)[i]);
}

// Tensors created for one call.
class OwnedTensors {
 public:
  OwnedTensors() = default;
  ~OwnedTensors() {
    for (TensorImpl* tensor : tensors_) Tensor::adopt(tensor);
  }
  TensorImpl* add(Tensor tensor) {
    tensors_.push_back(tensor.get());
    return tensor.leak();
  }
  TensorImpl** list(size_t length) { return lists_.emplace_back(new TensorImpl*[length]).get(); }

 private:
  InlineVector<TensorImpl*, 4> tensors_;
  std::vector<std::unique_ptr<TensorImpl*[]>> lists_;
};

// Hands the derivative op's results to the corresponding edges.
void deliver(const DerivativePlan& plan, Value* rets, std::span<Tensor> grads_out) {
  if (plan.results.size() == 1 && plan.op->schema.returns.size() == 1 && rets[0].tag == Tag::Tensor) [[likely]] {
    grads_out[static_cast<size_t>(plan.results[0])] = Tensor::adopt(rets[0].tensor);
    return;
  }
  size_t next = 0;
  OwnedResults({plan.op, nullptr, rets, 0, {}}).take_each([&](Tensor gradient) {
    const size_t result = next++;
    if (plan.per_element && result < grads_out.size()) grads_out[result] = std::move(gradient);
    else if (result < plan.results.size()) grads_out[static_cast<size_t>(plan.results[result])] = std::move(gradient);
  });
}

}  // namespace

namespace {

// A node's block with its arrays, without edges and saved values.
[[gnu::always_inline]] inline OpNode* make_block(Ref<NodeFacts> facts, char*& cursor) {
  const NodeFacts& shared = *facts;
  char* block = static_cast<char*>(allocate_block(shared.node_bytes, shared.node_class));
  auto* node = new (block) OpNode(std::move(facts));
  node->size_class = shared.node_class;
  node->sequence = ++thread_state.sequence;
  node->num_inputs = shared.num_results;
  node->infos = shared.infos;
  node->task.node = node;
  cursor = block + sizeof(OpNode);
  node->edges = reinterpret_cast<Edge*>(cursor);
  cursor += shared.num_edges * sizeof(Edge);
  node->task.gradients = reinterpret_cast<Tensor*>(cursor);
  cursor += shared.num_results * sizeof(Tensor);
  node->saved = reinterpret_cast<Value*>(cursor);
  cursor += shared.plan->arguments.size() * sizeof(Value);
  for (uint32_t i = 0; i < shared.num_results; ++i) new (&node->task.gradients[i]) Tensor;
  for (size_t i = 0; i < shared.plan->arguments.size(); ++i) new (&node->saved[i]) Value;
  return node;
}

}  // namespace

Ref<OpNode> make_op_node(const OpCall& call, Ref<NodeFacts> facts) {
  char* cursor = nullptr;
  OpNode* node = make_block(std::move(facts), cursor);
  Ref<OpNode> owner = Ref<OpNode>::adopt(node);
  for_each_input(call, [&](TensorImpl* tensor) {
    const Edge& edge = *new (&node->edges[node->num_edges]) Edge(tensor ? retained_edge(*tensor) : Edge{});
    ++node->num_edges;  // now that it exists: finding it may fail
    deepen(*node, edge);
  });
  save_arguments(*node, call, cursor);
  note_stream(*node);
  if (in_region()) [[unlikely]]
    for_each_result(call, [&](TensorImpl* tensor) { node->was_recorded |= tensor && is_recorded(*tensor); });
  return owner;
}

bool is_spent(Node& node) {
  std::vector<Node*> found{&node};
  std::unordered_set<const Node*> known{&node};
  for (size_t k = 0; k < found.size(); ++k) {
    if (found[k]->extras || found[k]->kind == NodeKind::Function) return false;
    if (found[k]->kind == NodeKind::Accumulator) continue;
    if (!found[k]->released && static_cast<OpNode*>(found[k])->facts->owned) return false;
    for (const Edge& edge : edges_of(*found[k]))
      if (edge.node && known.insert(edge.node).second) found.push_back(edge.node);
  }
  return true;
}

Ref<OpNode> copy_of_spent(const OpNode& node) {
  char* cursor = nullptr;
  OpNode* copy = make_block(node.facts, cursor);
  for (const Edge& edge : std::span(node.edges, node.num_edges)) {
    if (edge.node) edge.node->retain();
    new (&copy->edges[copy->num_edges++]) Edge(edge);
  }
  std::copy_n(node.saved, node.plan().arguments.size(), copy->saved);
  copy->depth = node.depth;
  copy->released = node.released;
  return Ref<OpNode>::adopt(copy);
}

void OpNode::save_results(const OpCall& call) {
  for (size_t i = 0; i < plan().arguments.size(); ++i) {
    const ArgumentSource& source = plan().arguments[i];
    if (source.from != From::Result) continue;
    TensorImpl* result = nullptr;
    int number = 0;
    for_each_result(call, [&](TensorImpl* tensor) {
      if (number++ == source.index) result = tensor;
    });
    if (!result) continue;
    saved[i] = Value::of(apart_from_history(*result).leak());
    saved[i].reserved = static_cast<uint16_t>(source.index + 1);
    saved[i].length = result->version().load(std::memory_order_relaxed);
  }
}

void OpNode::save_watched_results(const OpCall& call) {
  std::vector<Tensor> found;
  for_each_result(call, [&](TensorImpl* tensor) {
    const bool is_saved = plan().saved_results >> found.size() & 1;
    found.push_back(tensor && !is_saved ? apart_from_history(*tensor) : Tensor());
  });
  extras_of(*this).results = std::move(found);
}

void OpNode::save_extra(std::span<const Tensor> extra) {
  for (size_t i = 0; i < plan().arguments.size() && !extra.empty(); ++i) {
    const ArgumentSource& source = plan().arguments[i];
    if (source.from != From::Saved) continue;
    Tensor value = extra[static_cast<size_t>(source.index)];
    saved[i] = Value::of(value.leak());
    saved[i].reserved = kSavedArgument;
    saved[i].length = saved[i].tensor->version().load(std::memory_order_relaxed);
  }
}

void OpNode::pack_saved(const OpCall& call) {
  std::vector<TensorImpl*> results;
  for_each_result(call, [&](TensorImpl* tensor) { results.push_back(tensor); });
  const auto pack_tensor = [&](size_t argument, size_t element, TensorImpl& tensor, int32_t own_result) {
    PackedSlot slot = pack_slot(tensor, own_result, pack_with_hooks(tensor));
    pack(argument, element, std::move(slot));
  };
  for (size_t i = 0; i < plan().arguments.size(); ++i) {
    const Value& slot = saved[i];
    if (slot.tag == Tag::Tensor) {
      const int32_t result = result_number(slot);
      pack_tensor(i, 0, result < 0 ? *slot.tensor : *results[static_cast<size_t>(result)], result);
    } else if (is_tensor_list(slot)) {
      for (uint32_t k = 0; k < slot.length; ++k)
        if (slot.tensors[k]) pack_tensor(i, k, *slot.tensors[k], -1);
    }
  }
}

void OpNode::pack(size_t argument, size_t element, PackedSlot slot) {
  slot.argument = argument;
  slot.element = element;
  extras_of(*this).packed.push_back(std::move(slot));
  Value& value = saved[argument];
  TensorImpl*& place = is_tensor_list(value) ? const_cast<TensorImpl*&>(value.tensors[element]) : value.tensor;
  Tensor::adopt(std::exchange(place, nullptr));
}

const PackedSlot* OpNode::packed_slot(size_t argument, size_t element) const {
  if (!extras) return nullptr;
  for (const PackedSlot& slot : extras->packed)
    if (slot.argument == argument && slot.element == element) return &slot;
  return nullptr;
}

Tensor OpNode::unpack(size_t argument, size_t element) {
  if (released) raise_released(*this);
  const Value& slot = saved[argument];
  if (is_tensor_list(slot)) {
    TensorImpl* tensor = slot.tensors[element];
    if (tensor) check_version(*this, slot, *tensor, versions_of(slot)[element]);
    else if (const PackedSlot* packed = packed_slot(argument, element)) return packed->unpack(*this);
    return Tensor::share(tensor);
  }
  if (slot.tag != Tag::Tensor) return {};
  if (!slot.tensor) return packed_slot(argument, element)->unpack(*this);
  check_version(*this, slot, *slot.tensor, slot.length);
  const bool is_seen = thread_state.grad_mode || dispatches_to_python(slot.tensor->keys);
  if (result_number(slot) < 0 || !is_seen) return Tensor::share(slot.tensor);
  Tensor alias = apart_from_history(*slot.tensor);
  if (is_differentiable(alias->dtype))
    set_history(*alias, Ref<Node>::share(this), static_cast<uint32_t>(result_number(slot)));
  return alias;
}

void OpNode::apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph) {
  if (released) [[unlikely]]
    raise_released(*this);
  bool any = false;
  for (const Tensor& grad : grads_in) any |= static_cast<bool>(grad);
  if (!any) return;
  if (plan().op) compute(grads_in, grads_out, create_graph);
  for (uint32_t i = 0; plan().is_flat && i < num_edges; ++i)
    if (const Edge& edge = edges[i]; edge.node) grads_out[i] = zeros(edge.node->infos[edge.input]);
  for (const PassedGradient& passed : plan().passed) {
    Tensor& grad = grads_in[static_cast<size_t>(passed.gradient)];
    const bool hooks_see_it = extras;
    grads_out[static_cast<size_t>(passed.input)] = passed.is_last && !hooks_see_it ? std::move(grad) : grad;
  }
}

void OpNode::compute(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph) {
  Values<kMaxReturns> rets(plan().op->schema.returns.size());
  const RepeatedDerivative* repeated = create_graph ? nullptr : facts->derivative();
  if (!repeated || !repeated->run(*this, grads_in, rets.data())) [[unlikely]]
    dispatch_derivative(grads_in, rets.data(), create_graph);
  deliver(plan(), rets.data(), grads_out);
}

void OpNode::dispatch_derivative(std::span<Tensor> grads_in, Value* rets, bool create_graph) {
  const size_t count = plan().arguments.size();
  Values<kMaxArguments> args(count);
  OwnedTensors owned;
  for (size_t i = 0; i < count; ++i) {
    const ArgumentSource& source = plan().arguments[i];
    if (source.from == From::Gradient) {
      TensorImpl* grad = grads_in[static_cast<size_t>(source.index)].get();
      args[i] = Value::of(grad ? grad : owned.add(repeated_zero(infos[source.index])));
      continue;
    }
    if (source.from == From::Gradients) {
      TensorImpl** gradients = owned.list(num_inputs);
      for (uint32_t k = 0; k < num_inputs; ++k) {
        if (!grads_in[k]) grads_in[k] = zeros(infos[k]);
        gradients[k] = grads_in[k].get();
      }
      args[i] = Value::of(std::span<TensorImpl* const>(gradients, num_inputs));
      continue;
    }
    const Value& slot = saved[i];
    args[i] = slot;
    if (slot.tag == Tag::Tensor) {
      const bool is_seen = create_graph || (slot.tensor && dispatches_to_python(slot.tensor->keys));
      if (!slot.tensor || (is_seen && result_number(slot) >= 0)) [[unlikely]] {
        args[i] = Value::of(owned.add(unpack(i)));
        continue;
      }
      check_version(*this, slot, *slot.tensor, slot.length);
      args[i] = Value::of(slot.tensor);
    } else if (is_tensor_list(slot)) {
      check_list(*this, slot);
      if (extras && !extras->packed.empty()) [[unlikely]] {
        TensorImpl** tensors = owned.list(slot.length);
        for (uint32_t k = 0; k < slot.length; ++k) tensors[k] = owned.add(unpack(i, k));
        args[i].tensors = tensors;
      }
    }
  }
  OpCall call{plan().op, args.data(), rets, static_cast<uint8_t>(count), {}};
  if (create_graph) return dispatch(call);
  InlineVector<TensorImpl*, 4> spent;
  if (!extras) find_spent(grads_in, call, spent);
  if (spent.empty()) return facts->run_derivative(call);
  Donation donation{&call, {spent.begin(), spent.size()}};
  const DonationScope scope(donation);
  facts->run_derivative(call);
}

// The gradients that the call reads last and that have no other holder. Hooks would see what the call leaves of them.
void OpNode::find_spent(std::span<Tensor> grads_in, const OpCall& call, InlineVector<TensorImpl*, 4>& spent) const {
  for (uint32_t k = 0; k < num_inputs; ++k) {
    TensorImpl* const grad = grads_in[k].get();
    if (!grad || !is_worth_donating(*grad) || !owns_memory_alone(*grad)) continue;
    const bool is_passed_on = std::ranges::count(plan().passed, static_cast<int>(k), &PassedGradient::gradient) != 0;
    const auto is_grad = [&](const Value& value) { return value.tag == Tag::Tensor && value.tensor == grad; };
    if (!is_passed_on && std::count_if(call.args, call.args + call.num_args, is_grad) == 1) spent.push_back(grad);
  }
}

void OpNode::release_saved() {
  if (released) return;
  released = facts->saves_number;
  for (uint32_t rest = facts->owned; rest; rest &= rest - 1) {
    const int i = std::countr_zero(rest);
    const bool list = is_tensor_list(saved[i]);
    if (!list && saved[i].tag != Tag::Tensor) continue;
    if (list) drop_list(saved[i]);
    else Tensor::adopt(saved[i].tensor);
    saved[i].tag = Tag::None;
    released = true;
  }
  if (extras) [[unlikely]] {
    extras->packed.clear();
    extras->results.clear();
  }
}

void OpNode::free_memory() {
  release_saved();
  const int klass = size_class;
  for (uint32_t i = 0; i < num_inputs; ++i) task.gradients[i].~Tensor();
  this->~OpNode();
  free_block(this, klass);
}

std::string OpNode::name() const { return plan().node_name.empty() ? node_name(op()) : plan().node_name; }

std::string node_name(const OpRecord& op) {
  std::string text;
  bool upper = true;
  for (const char c : op.schema.name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    text += upper ? static_cast<char>(std::toupper(c)) : c;
    upper = false;
  }
  return text + "Backward0";
}

}  // namespace pellucid
