// Recording: which calls become nodes of the segment, with which operands and results.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "autograd/handler.h"
#include "core/allocator.h"
#include "core/dispatcher.h"
#include "core/geometry.h"
#include "core/owned_results.h"
#include "kernels/gather.h"
#include "kernels/layout.h"
#include "ops/graph_op.h"
#include "record/anchors.h"
#include "record/recorder.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid::record {

namespace {

constexpr KeySet kPlainKeys = kHistoryKeys | Key::CPU;

// Two threads may write to one tensor: its memory is taken by one of them.
FORK_SAFE ForkSafeMutex taking;

}  // namespace

int Recorder::find_value(const TensorImpl& tensor) const {
  if (!(tensor.flags & TensorImpl::kNoMemory) || tensor.wrapper || tensor.storage->host || tensor.storage->deleter)
    return -1;
  const auto* value = static_cast<const Value*>(tensor.storage->context);
  if (!value || value->recorder != this) return -1;
  const Space& space = segment_->spaces[value->space];
  const bool whole = tensor.offset == 0 && tensor.dtype == value->dtype &&
                     std::ranges::equal(tensor.shape(), space.shape()) &&
                     std::equal(tensor.strides, tensor.strides + tensor.ndim, value->strides);
  return whole ? value->number : -1;
}

// An op reads a view of a recorded value like any other memory, so the value gets its memory now.
void Recorder::fill_view(TensorImpl& tensor) const {
  if (tensor.flags & TensorImpl::kNoMemory && find_value(tensor) < 0) tensor.host();
}

Operand Recorder::operand_of(TensorImpl& tensor) {
  if (const int value = find_value(tensor); value >= 0) return {true, static_cast<uint16_t>(value)};
  const auto is_it = [&](const Input& input) {
    return input.storage.get() == tensor.storage && input.offset == tensor.offset && input.dtype == tensor.dtype &&
           std::ranges::equal(tensor.shape(), std::span(input.sizes, static_cast<size_t>(input.ndim))) &&
           std::ranges::equal(tensor.stride(), std::span(input.strides, static_cast<size_t>(input.ndim)));
  };
  const auto found = std::ranges::find_if(segment_->inputs, is_it);
  const auto number = static_cast<uint16_t>(found - segment_->inputs.begin());
  if (found != segment_->inputs.end()) return {false, number};
  Input& input = segment_->inputs.emplace_back();
  tensor.storage->awaited.fetch_add(1, std::memory_order_relaxed);
  input.storage = Ref<Storage>::share(tensor.storage);
  input.offset = tensor.offset;
  input.dtype = tensor.dtype;
  input.ndim = tensor.ndim;
  std::copy_n(tensor.sizes, tensor.ndim, input.sizes);
  std::copy_n(tensor.strides, tensor.ndim, input.strides);
  return {false, number};
}

uint8_t Recorder::space_of(std::span<const int64_t> sizes) {
  const auto found = std::ranges::find_if(segment_->spaces,
                                          [&](const Space& space) { return std::ranges::equal(space.shape(), sizes); });
  if (found != segment_->spaces.end()) return static_cast<uint8_t>(found - segment_->spaces.begin());
  Space& space = segment_->spaces.emplace_back();
  space.ndim = static_cast<int>(sizes.size());
  space.numel = 1;
  for (size_t k = 0; k < sizes.size(); ++k) space.numel *= space.sizes[k] = sizes[k];
  return static_cast<uint8_t>(segment_->spaces.size() - 1);
}

// Whether the segment must run before another op is recorded: it is full, or its last run was interrupted.
bool Recorder::is_full() const {
  return segment_->done.any() || segment_->nodes.size() == kMaxNodes ||
         segment_->values.size() + kMaxGroupOutputs > kMaxValues || segment_->spaces.size() > 200;
}

Node& Recorder::add_node(const OpRecord& op, uint8_t space) {
  Node& node = segment_->nodes.emplace_back();
  node = {.op = &op,
          .function = nullptr,
          .anchor = nullptr,
          .first_operand = static_cast<uint16_t>(segment_->operands.size()),
          .first_param = static_cast<uint16_t>(segment_->params.size()),
          .first_value = static_cast<uint16_t>(segment_->values.size()),
          .space = space,
          .num_operands = 0,
          .num_values = 0,
          .is_alone = false};
  ++counts_.recorded;
  return node;
}

void Recorder::add_node(const OpRecord& op, const ElementFunction& function, uint8_t space, const uint64_t* params) {
  Node& node = add_node(op, space);
  node.function = &function;
  node.num_operands = function.num_inputs;
  node.num_values = function.num_outputs;
  segment_->params.insert(segment_->params.end(), params, params + function.num_params);
}

// Whether the tensor is all of its storage and nobody shares the storage, except for readers in the segment.
bool Recorder::has_memory_alone(const TensorImpl& self) const {
  const Storage& storage = *self.storage;
  if (self.flags & TensorImpl::kNoMemory || !storage.host || storage.deleter || storage.escaped) return false;
  const bool is_whole = self.offset == 0 && static_cast<size_t>(self.numel) * item_size(self.dtype) == storage.nbytes &&
                        is_non_overlapping_and_dense(self.shape(), self.stride());
  if (!is_whole || storage.size_class < 0) return false;
  const auto readers =
      std::ranges::count(segment_->inputs, self.storage, [](const Input& in) { return in.storage.get(); });
  return storage.refs.load(std::memory_order_acquire) == 1 + readers && storage.awaited.load() == readers;
}

// Small memory is copied: it is a part of its storage.
static void move_or_copy_memory(Storage& from, Storage& to) {
  if (move_memory(from, to)) return;
  void* block = allocate_block(to.nbytes, size_class(to.nbytes));
  std::memcpy(block, from.host, to.nbytes);
  fill_storage(to, block);
  empty_storage(from);
}

// Inputs that read from one storage read from the other from now on.
void Recorder::rebind(Storage& from, Storage& to) {
  for (Input& input : segment_->inputs) {
    if (input.storage.get() != &from) continue;
    from.awaited.fetch_sub(1, std::memory_order_relaxed);
    to.awaited.fetch_add(1, std::memory_order_relaxed);
    input.storage = Ref<Storage>::share(&to);
  }
}

// Moves the tensor's memory to an input of the segment, which its recorded readers read from then on. If memory is
// exhausted, nothing changes.
Operand Recorder::take_memory(TensorImpl& self) {
  const Ref<Storage> taken = make_unfilled_storage(self.storage->nbytes);
  const Tensor tensor = tensor_of(*taken, self.shape(), self.stride(), 0, self.dtype);
  segment_->inputs.reserve(segment_->inputs.size() + 1);
  rebind(*self.storage, *taken);
  try {
    move_or_copy_memory(*self.storage, *taken);
  } catch (...) {
    rebind(*taken, *self.storage);
    throw;
  }
  const Operand operand = operand_of(*tensor);
  self.flags |= TensorImpl::kNoMemory;
  return operand;
}

// Records an in-place write. False if the memory is shared.
template <class TensorAt>
bool Recorder::add_write(OpCall& call, const ElementFunction& function, const uint64_t* params, TensorImpl& self,
                         TensorAt&& tensor_at) {
  const auto guard = lock();
  const bool is_value = find_value(self) >= 0;
  Operand taken{};
  if (!is_value) {
    const std::lock_guard alone(taking);
    if (!has_memory_alone(self)) return false;
    taken = take_memory(self);
  }
  const uint8_t space = space_of(self.shape());
  add_node(*call.op, function, space, params);
  for (int k = 0; k < function.num_inputs; ++k) {
    TensorImpl* read = tensor_at(k);
    segment_->operands.push_back(read == &self && !is_value ? taken : operand_of(*read));
  }
  if (is_value) {
    overwrite(call.rets[0], self, space);
  } else {
    give_result(call.rets[0], Tensor::share(&self), space);
    segment_->values.back().taken = static_cast<int16_t>(taken.number);
    self.bump_version();
  }
  return true;
}

// A value number identifies contents: an in-place write makes the next value of the same storage. The former value gets
// a new storage if an op fills it.
void Recorder::overwrite(pellucid::Value& result, TensorImpl& self, uint8_t space) {
  Value& former = *static_cast<Value*>(self.storage->context);
  const int16_t taken = std::exchange(former.taken, int16_t{-1});
  const Tensor held = std::move(former.tensor);
  const Ref<Storage> own = std::move(former.storage);
  give_result(result, Tensor::share(&self), space);
  segment_->values.back().taken = taken;
  self.bump_version();
}

void Recorder::give_result(pellucid::Value& result, Tensor tensor, uint8_t space) {
  Value& value = segment_->values.emplace_back();
  value.recorder = this;
  value.number = static_cast<uint16_t>(segment_->values.size() - 1);
  value.node = static_cast<uint16_t>(segment_->nodes.size() - 1);
  value.space = space;
  value.dtype = tensor->dtype;
  std::copy_n(tensor->strides, tensor->ndim, value.strides);
  value.storage = Ref<Storage>::share(tensor->storage);
  value.nbytes = value.storage->nbytes;
  value.storage->context = &value;
  value.tensor = Tensor::share(tensor.get());
  result = pellucid::Value::of(tensor.leak());
}

namespace {

constexpr const char* kWritesMemory = "it writes to memory that other tensors share";

// Why the call's arguments prevent recording; null if they do not.
const char* unfit(const OpCall& call) {
  if (preparation_request_of(call)) return "it is being prepared for repeated calls";
  if (call.op->variant == Variant::Out) return "it writes to a tensor that it is given (out=)";
  if (thread_state.anomaly_mode) return "anomaly mode watches it";
  for (int k = 0; k < call.num_args; ++k) {
    const pellucid::Value& value = call.args[k];
    if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList) return "it takes a list of tensors";
    if (value.tag == Tag::MemoryFormat) return "an argument gives the layout of its result";
    if (value.tag != Tag::Tensor) continue;
    const TensorImpl& tensor = *value.tensor;
    if (!(tensor.keys - kPlainKeys).empty() || tensor.wrapper || tensor.device != Device{})
      return "a tensor is not a plain one on the CPU";
    if (tensor.ndim > kInlineDims) return "a tensor has too many dimensions";
    if (tensor.storage->escaped) return "code other than ops may write to memory that it reads";
  }
  return nullptr;
}

// Why the op may fail depending on elements, or depends on more than its elements; null if neither.
const char* unfit(const OpCall& call, const ElementFunction& function) {
  if (!function.is_plain) return "it draws random numbers or checks its numbers";
  if (!function.requirements.empty()) return "it checks its elements";
  if (function.num_outputs != call.op->schema.returns.size()) return "it returns less than it computes";
  for (int k = 0; k < function.num_outputs; ++k)
    if (category(function.outputs[k]) == DTypeCategory::Integral) return "integer arithmetic may fail";
  return nullptr;
}

// The results of an anchor as tensors without memory.
class MetaResults {
 public:
  explicit MetaResults(const OpCall& call) {
    pellucid::Value results[kMaxReturns];
    OpCall meta{call.op, call.args, results, call.num_args, call.keys};
    passes_ = find_passes(meta);
    if (!passes_) return;
    OwnedResults(meta).take_each([&](Tensor tensor) { tensors_.push_back(std::move(tensor)); });
  }
  bool fit() const {
    const auto fits = [](const Tensor& tensor) { return tensor && tensor->ndim <= kInlineDims && tensor->offset == 0; };
    return passes_ && tensors_.size() <= kMaxGroupOutputs && std::ranges::all_of(tensors_, fits);
  }
  size_t passes() const { return passes_; }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  size_t passes_ = 0;
  std::vector<Tensor> tensors_;
};

void give(std::span<const pellucid::Value> results, bool as_list, OpCall& call) {
  if (!as_list) return static_cast<void>(std::ranges::copy(results, call.rets));
  auto* tensors = new TensorImpl*[results.size()];
  for (size_t k = 0; k < results.size(); ++k) tensors[k] = results[k].tensor;
  call.rets[0] = pellucid::Value::of(std::span<TensorImpl* const>(tensors, results.size()));
}

}  // namespace

bool Recorder::record(const PreparedMap& map, OpCall& call, std::span<TensorImpl* const> tensors) {
  const ElementFunction& function = map.function;
  TensorImpl* self = map.written >= 0 ? call.args[map.written].tensor : nullptr;
  const int64_t numel = self ? self->numel : map.geometry->numel;
  if (watched_ || thread_state.anomaly_mode || numel == 0) return false;
  const auto is_value = [this](TensorImpl* tensor) { return find_value(*tensor) >= 0; };
  if (numel < kLeastRecorded && std::ranges::none_of(tensors, is_value)) return false;
  if (self && find_value(*self) < 0 && !has_memory_alone(*self)) return false;
  if (unfit(call, function)) return false;
  for (TensorImpl* tensor : tensors) {
    if (tensor->storage->escaped) return false;
    fill_view(*tensor);
  }
  if (is_full()) run("the segment is full");
  if (!is_known(function)) return false;
  const auto tensor_at = [&](int k) { return tensors[map.operands[k]]; };
  if (self) return add_write(call, function, map.params, *self, tensor_at);
  const auto guard = lock();
  const uint8_t space = space_of({map.geometry->words, map.geometry->ndim});
  add_node(*call.op, function, space, map.params);
  for (int k = 0; k < function.num_inputs; ++k) segment_->operands.push_back(operand_of(*tensor_at(k)));
  for (int k = 0; k < function.num_outputs; ++k)
    give_result(call.rets[k], empty_without_memory(*map.geometry, function.outputs[k]), space);
  return true;
}

const char* Recorder::record(OpCall& call) {
  if (call.op->kind != OpKind::Pointwise) return record_anchor(call);
  if (const char* reason = unfit(call)) return reason;
  PointwiseData& data = pointwise_data(*call.op);
  // A tensor that is written in place either has no memory yet or moves it to the segment.
  TensorImpl* self = call.op->variant == Variant::InPlace ? call.args[data.written[0]].tensor : nullptr;
  if (self && find_value(*self) < 0 && !has_memory_alone(*self)) return kWritesMemory;
  TensorImpl* tensors[kMaxPointwiseArguments];
  size_t num_tensors = 0;
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int ndim = 0;
  for (int k = 0; k < data.num_arguments; ++k) {
    if (!call.args[k].is_tensor()) continue;
    TensorImpl* tensor = tensors[num_tensors++] = call.args[k].tensor;
    int64_t joined[kMaxDims];
    ndim = broadcast_sizes({sizes, static_cast<size_t>(ndim)}, tensor->shape(), joined);
    std::copy_n(joined, ndim, sizes);
  }
  if (!num_tensors) return "it reads no tensor";
  const std::span<const int64_t> shape{sizes, static_cast<size_t>(ndim)};
  int64_t numel = 1;
  for (const int64_t size : shape) numel *= size;
  const auto is_value = [this](TensorImpl* tensor) { return find_value(*tensor) >= 0; };
  const bool is_small = numel < kLeastRecorded && std::none_of(tensors, tensors + num_tensors, is_value);
  if (is_small || numel == 0) return "it has few elements";
  const Gathered gathered = Gatherer(call, data).gather();
  const ElementFunction& function = data.function_for(call, gathered.key);
  if (const char* reason = unfit(call, function)) return reason;
  if (self &&
      (function.num_outputs != 1 || function.outputs[0] != self->dtype || !std::ranges::equal(shape, self->shape())))
    return "its result's shape or dtype differs from that of the tensor it writes";
  uint64_t params[kMaxMapParams];
  for (int k = 0; k < function.num_params; ++k) params[k] = parameter_bits(call, function.params[k]);
  for (size_t k = 0; k < num_tensors; ++k) fill_view(*tensors[k]);
  strides_for_operands(shape, {tensors, num_tensors}, strides);
  if (is_full()) run("the segment is full");
  function.kernel.get();  // may call Python, which a run may not
  remember_request(function, call, gathered.key);
  const auto tensor_at = [&](int k) { return call.args[function.inputs[k].argument].tensor; };
  if (self) {
    if (!add_write(call, function, params, *self, tensor_at)) return kWritesMemory;
  } else {
    const auto guard = lock();
    const uint8_t space = space_of(shape);
    add_node(*call.op, function, space, params);
    for (int k = 0; k < function.num_inputs; ++k) segment_->operands.push_back(operand_of(*tensor_at(k)));
    for (int k = 0; k < function.num_outputs; ++k)
      give_result(call.rets[k], empty_without_memory(shape, {strides, shape.size()}, function.outputs[k]), space);
  }
  if (watched_) note(Event::Kind::Recorded, call.op, numel, "");
  return nullptr;
}

const char* Recorder::record_anchor(OpCall& call) {
  if (const char* reason = unfit_as_anchor(call)) return reason;
  if (const char* reason = unfit(call)) return reason;
  int64_t numel = 0;
  bool reads_recorded = false;
  for (int k = 0; k < call.num_args; ++k) {
    if (!call.args[k].is_tensor()) continue;
    numel = std::max(numel, call.args[k].tensor->numel);
    reads_recorded = reads_recorded || find_value(*call.args[k].tensor) >= 0;
  }
  if (numel < (reads_recorded ? kLeastReading : kLeastAnchoredAlone)) return "it has few elements";
  const MetaResults results(call);
  if (!results.fit()) return "its plan has steps other than passes over whole tensors";
  const AnchorForm* form = anchor_form(call, results.passes());
  if (!form) return "too many forms of such ops are known";
  for (const uint8_t k : form->tensors) fill_view(*call.args[k].tensor);
  if (is_full()) run("the segment is full");
  const auto guard = lock();
  const uint8_t space = space_of(results.tensors()[0]->shape());
  Node& node = add_node(*call.op, space);
  node.anchor = form;
  node.is_alone = numel < kLeastAnchored;
  node.first_param = static_cast<uint16_t>(keep_arguments(*segment_, call));
  node.num_operands = static_cast<uint8_t>(form->tensors.size());
  node.num_values = static_cast<uint8_t>(results.tensors().size());
  for (const uint8_t k : form->tensors) segment_->operands.push_back(operand_of(*call.args[k].tensor));
  std::vector<pellucid::Value> given;
  for (const Tensor& like : results.tensors())
    give_result(given.emplace_back(), empty_without_memory(like->shape(), like->stride(), like->dtype),
                space_of(like->shape()));
  give(given, form->gives_list, call);
  if (watched_) note(Event::Kind::Recorded, call.op, numel, "");
  return nullptr;
}

}  // namespace pellucid::record
