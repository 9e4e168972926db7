#include "autograd/node_facts.h"

#include <new>

#include "autograd/handler.h"
#include "autograd/op_node.h"
#include "autograd/saved_value.h"
#include "core/allocator.h"
#include "core/call_event.h"
#include "core/defaults.h"
#include "core/dispatcher.h"
#include "core/recording.h"
#include "core/thread_pool.h"

namespace pellucid {
namespace {

using From = ArgumentSource::From;

// Without other keys, the kernel at the CPU key runs.
constexpr KeySet kPlainKeys = kHistoryKeys | Key::CPU;

KeySet keys_below_history(const OpRecord& op, KeySet keys) {
  return dispatch_keys(op, keys) - kHistoryKeys - Key::Lazy;
}

// ---------------------------------------------------------------------------- what nodes share

int64_t size_at(const OpCall& call, const SizeSource& source) {
  const Value& value = call.args[source.argument];
  const TensorImpl* tensor = source.element < 0 ? value.tensor : value.tensors[source.element];
  return tensor->sizes[source.dim];
}

// The non-tensor arguments that a node exposes: numbers, strings and lists of them.
bool is_shown(const Value& value) {
  return value.tag != Tag::Tensor && !is_tensor_list(value) && value.tag != Tag::Object && value.tag != Tag::Generator;
}

// The bytes for the gradients' sizes and for what constants and exposed arguments point to.
size_t payload_of(const OpCall& call, const DerivativePlan& plan, uint32_t& num_results) {
  size_t bytes = plan.num_sizes(call) * sizeof(int64_t);
  for_each_result(call, [&](TensorImpl* tensor) {
    ++num_results;
    if (tensor) bytes += tensor->ndim * sizeof(int64_t);
  });
  for (const ArgumentSource& source : plan.arguments)
    if (source.from == From::Argument)
      if (const Value& value = call.args[source.index]; !is_plain(value) && !is_tensor_list(value)) [[unlikely]]
        bytes += payload_bytes(value);
  for (size_t i = 0; i < call.num_args; ++i)
    if (is_shown(call.args[i])) bytes += payload_bytes(call.args[i]);
  return bytes;
}

void fill_infos(NodeFacts& facts, const OpCall& call, char*& cursor) {
  GradientInfo* info = facts.infos;
  for_each_result(call, [&](TensorImpl* tensor) {
    auto* sizes = reinterpret_cast<int64_t*>(cursor);
    new (info) GradientInfo;
    if (tensor) {
      *info = {sizes, tensor->ndim, tensor->dtype, tensor->device};
      for (int i = 0; i < tensor->ndim; ++i) sizes[i] = tensor->sizes[i];
      cursor += tensor->ndim * sizeof(int64_t);
    }
    ++info;
  });
}

Value sizes_of(const OpCall& call, const DerivativePlan& plan, char*& cursor) {
  auto* sizes = reinterpret_cast<int64_t*>(cursor);
  const std::span<const int64_t> list{sizes, plan.num_sizes(call)};
  for (size_t k = 0; k < list.size(); ++k) *sizes++ = size_at(call, plan.size_source(k));
  cursor = reinterpret_cast<char*>(sizes);
  return Value::of(list);
}

// Returns the bytes in a node's block for lists of tensors, which every node has for itself.
size_t fill_constants(NodeFacts& facts, const OpCall& call, char*& cursor) {
  size_t list_bytes = 0;
  for (size_t i = 0; i < facts.plan->arguments.size(); ++i) {
    const ArgumentSource& source = facts.plan->arguments[i];
    Value& constant = *new (&facts.constants[i]) Value;
    switch (source.from) {
      case From::Sizes: constant = sizes_of(call, *facts.plan, cursor); break;
      case From::Constant: constant = facts.plan->constants[static_cast<size_t>(source.index)]; break;
      case From::Result:
      case From::Saved: facts.owned |= 1u << i; break;
      case From::Argument: {
        const Value& value = call.args[source.index];
        if (value.tag == Tag::Tensor || is_tensor_list(value)) {
          facts.tensors |= 1u << i;
          if (is_tensor_list(value) && source.element < 0) list_bytes += payload_bytes(value);
        } else {
          constant = copy_value(value, cursor);
          const ArgType type = call.op->schema.arguments[source.index].type;
          facts.saves_number |= (type == ArgType::Tensor || type == ArgType::TensorOrScalar) && !value.is_none();
        }
        break;
      }
      default: break;
    }
  }
  facts.owned |= facts.tensors;
  for (size_t i = 0; i < call.num_args; ++i) {
    Value& given = *new (&facts.given[i]) Value;
    if (is_shown(call.args[i])) given = copy_value(call.args[i], cursor);
  }
  return list_bytes;
}

}  // namespace

Ref<NodeFacts> node_facts_of(const OpCall& call, SharedPlan shared) {
  const DerivativePlan& plan = *shared;
  uint32_t num_results = 0;
  const size_t arguments = plan.arguments.size();
  const size_t payload = payload_of(call, plan, num_results);
  const size_t nbytes =
      sizeof(NodeFacts) + num_results * sizeof(GradientInfo) + (arguments + call.num_args) * sizeof(Value) + payload;
  const int klass = size_class(nbytes);
  char* block = static_cast<char*>(allocate_block(nbytes, klass));
  auto* facts = new (block) NodeFacts(call.op->functional ? call.op->functional : call.op, std::move(shared));
  facts->own_class = static_cast<uint16_t>(klass);
  auto owner = Ref<NodeFacts>::adopt(facts);
  char* cursor = block + sizeof(NodeFacts);
  facts->num_results = num_results;
  facts->infos = reinterpret_cast<GradientInfo*>(cursor);
  cursor += num_results * sizeof(GradientInfo);
  facts->constants = reinterpret_cast<Value*>(cursor);
  cursor += arguments * sizeof(Value);
  facts->given = reinterpret_cast<Value*>(cursor);
  cursor += call.num_args * sizeof(Value);
  fill_infos(*facts, call, cursor);
  const size_t list_bytes = fill_constants(*facts, call, cursor);
  for_each_input(call, [&](TensorImpl*) { ++facts->num_edges; });
  const size_t node_bytes = sizeof(OpNode) + facts->num_edges * sizeof(Edge) + num_results * sizeof(Tensor) +
                            arguments * sizeof(Value) + list_bytes;
  facts->node_bytes = static_cast<uint32_t>(node_bytes);
  facts->node_class = static_cast<uint16_t>(size_class(node_bytes));
  return owner;
}

void destroy(NodeFacts* facts) {
  const int klass = facts->own_class;
  facts->~NodeFacts();
  free_block(facts, klass);
}

// ------------------------------------------------------------------------- repeated derivatives

std::unique_ptr<RepeatedDerivative> RepeatedDerivative::run_and_prepare(OpCall& call, const DerivativePlan& plan) {
  auto made = std::make_unique<RepeatedDerivative>();
  bool possible = true;
  for (uint8_t i = 0; i < call.num_args; ++i) {
    const Value& value = call.args[i];
    possible &= !is_tensor_list(value);
    if (value.tag != Tag::Tensor) continue;
    const ArgumentSource& source = plan.arguments[i];
    made->operands_.push_back({i, source.from == From::Gradient ? source.index : int16_t{-1}});
    const TensorImpl& tensor = *value.tensor;
    possible &= tensor.numel < kParallelGrain;
    made->is_small_ &= tensor.numel < kLeastRecorded;
    made->argument_keys_ = made->argument_keys_ | tensor.keys;
    made->words_.push_back(tensor.facts());
    for (int axis = 0; axis < tensor.ndim; ++axis) {
      made->words_.push_back(static_cast<uint64_t>(tensor.sizes[axis]));
      made->words_.push_back(static_cast<uint64_t>(tensor.strides[axis]));
    }
  }
  made->op_ = call.op;
  made->num_arguments_ = call.num_args;
  made->epoch_ = call.op->epoch.load(std::memory_order_relaxed);
  made->default_dtype_ = default_dtype();
  made->keys_ = keys_below_history(*call.op, made->argument_keys_);
  PreparationRequest request{&call, nullptr};
  {
    const PreparationScope scope(request);
    const ExcludeKeys below(kHistoryKeys);
    dispatch(call, made->argument_keys_);
  }
  made->prepared_ = std::move(request.made);
  possible &= made->prepared_ && (made->argument_keys_ - kPlainKeys).empty();
  return possible ? std::move(made) : nullptr;
}

namespace {

// Whether `tensor` has the facts encoded at `word`, which is advanced past them.
bool matches(const TensorImpl& tensor, const uint64_t*& word) {
  if (tensor.facts() != *word++) return false;
  for (int axis = 0; axis < tensor.ndim; ++axis, word += 2)
    if (static_cast<uint64_t>(tensor.sizes[axis]) != word[0] || static_cast<uint64_t>(tensor.strides[axis]) != word[1])
      return false;
  return true;
}

}  // namespace

bool RepeatedDerivative::run(const OpNode& node, std::span<const Tensor> gradients, Value* rets) const {
  if (epoch_ != op_->epoch.load(std::memory_order_relaxed) || default_dtype_ != default_dtype() ||
      is_watched(kWatchDispatches) || (!is_small_ && in_region())) [[unlikely]]
    return false;
  TensorImpl* tensors[kMaxArguments];
  TensorImpl** next = tensors;
  KeySet keys;
  const uint64_t* word = words_.data();
  for (const Operand& operand : operands_) {
    const Value& slot = node.saved[operand.argument];
    TensorImpl* tensor =
        operand.gradient < 0 ? node.unchanged(slot) : gradients[static_cast<size_t>(operand.gradient)].get();
    if (!tensor || !matches(*tensor, word)) [[unlikely]]
      return false;
    keys = keys | tensor->keys;
    *next++ = tensor;
  }
  if (keys != argument_keys_ || keys_below_history(*op_, keys) != keys_) [[unlikely]]
    return false;
  // Prepared calls read their tensors, not the arguments.
  OpCall call{op_, node.saved, rets, num_arguments_, keys_};
  if (is_watched(kWatchCalls)) [[unlikely]]
    return run_watched(call, {tensors, next});
  return prepared_->run(call, {tensors, next});
}

// The event's facts are those of the arguments, among which the gradients have no place in the node.
bool RepeatedDerivative::run_watched(OpCall& call, std::span<TensorImpl* const> tensors) const {
  if (!is_watched(kWatchFacts)) {
    const CallEvent event(call, ticks());
    return prepared_->run(call, tensors);
  }
  Value arguments[kMaxArguments];
  std::copy_n(call.args, call.num_args, arguments);
  for (size_t k = 0; k < operands_.size(); ++k) arguments[operands_[k].argument] = Value::of(tensors[k]);
  const CallEvent event({call.op, arguments, call.rets, call.num_args, call.keys}, ticks());
  return prepared_->run(call, tensors);
}

// Not the first: many programs run a step once.
constexpr uint8_t kPreparedRun = 2;

void NodeFacts::run_derivative(OpCall& call) const {
  if (is_repeated_ && runs_.load(std::memory_order_relaxed) < kPreparedRun &&
      runs_.fetch_add(1, std::memory_order_relaxed) + 1 == kPreparedRun) {
    derivative_.store(RepeatedDerivative::run_and_prepare(call, *plan).release(), std::memory_order_release);
    return;
  }
  const ExcludeKeys below(kHistoryKeys);
  dispatch(call);
}

}  // namespace pellucid
