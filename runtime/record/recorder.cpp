#include "record/recorder.h"

#include <algorithm>
#include <atomic>

#include "autograd/handler.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "core/inline_storage.h"
#include "core/owned_results.h"
#include "core/recording.h"
#include "kernels/gather.h"
#include "kernels/layout.h"
#include "ops/graph_op.h"
#include "record/anchors.h"
#include "record/capture.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid::record {

std::string (*describe_place)() = nullptr;
void (*refuse_read)(const char* what) = nullptr;

namespace {

constexpr size_t kMostEvents = 4096;

constexpr KeySet kPlainKeys = kHistoryKeys | Key::CPU;

// All recorders, and those whose threads have ended. None is freed: another thread may be about to run one that it
// found in the registry or in a recorded value. A new thread takes one that is unused.
struct Registry {
  ForkSafeMutex mutex;
  std::vector<Recorder*> recorders, unused;
};
Registry& registry() {
  static auto* made = new Registry;
  return *made;
}

struct ThreadRecorder {
  Recorder* recorder = nullptr;
  ~ThreadRecorder() {
    if (!recorder) return;
    Registry& all = registry();
    std::lock_guard guard(all.mutex);
    all.unused.push_back(recorder);
  }
};
thread_local ThreadRecorder of_thread;

// Two threads may write to one tensor: its memory is taken by one of them.
ForkSafeMutex taking;

}  // namespace

Recorder& Recorder::of_this_thread() {
  if (of_thread.recorder) return *of_thread.recorder;
  Registry& all = registry();
  std::lock_guard guard(all.mutex);
  if (all.unused.empty()) {
    all.recorders.push_back(of_thread.recorder = new Recorder);
  } else {
    of_thread.recorder = all.unused.back();
    all.unused.pop_back();
    of_thread.recorder->reset();
  }
  return *of_thread.recorder;
}

void Recorder::reset() {
  counts_ = {};
  events_.clear();
  depth_ = 0;
  refuses_reads_ = watched_ = false;
  running = nullptr;
}

// The registry's lock is released first: running a segment takes the recorder's lock, which may be held for long.
void Recorder::run_readers(Storage& storage) {
  std::vector<Recorder*> recorders;
  {
    Registry& all = registry();
    std::lock_guard guard(all.mutex);
    recorders = all.recorders;
  }
  for (Recorder* recorder : recorders)
    if (storage.awaited.load()) recorder->run("memory that recorded ops read is written");
}

std::unique_lock<std::recursive_mutex> Recorder::lock() {
  std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) without_interpreter_lock([&] { guard.lock(); });
  return guard;
}

void Recorder::enter(bool refuses) {
  if (depth_++) return;
  refuses_reads_ = refuses;
  thread_state.include = thread_state.include | Key::Lazy;
}

void Recorder::finish(const char* reason) {
  try {
    if (depth_ == 1) run(reason);
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

void Recorder::leave() noexcept {
  if (--depth_) return;
  refuses_reads_ = false;
  thread_state.include = thread_state.include - Key::Lazy;
}

void Recorder::watch(bool wanted) {
  watched_ = wanted;
  if (wanted) events_.clear();
}

void Recorder::note(Event::Kind kind, const OpRecord* op, int64_t numel, std::string reason) {
  if (!watched_ || events_.size() >= kMostEvents) return;
  events_.push_back({kind, op, numel, std::move(reason), describe_place ? describe_place() : ""});
}

// If only the recorder holds the tensor, the tensor's reference to the storage counts as the recorder's, too.
Holders Recorder::holders(const TensorImpl& tensor) {
  const Storage& storage = *tensor.storage;
  const auto* value = static_cast<const Value*>(storage.context);
  std::unique_lock<std::recursive_mutex> guard;  // another thread may run it
  if (value) guard = value->recorder->lock();
  const int of_tensor = tensor.refs.load(std::memory_order_acquire);
  const int of_storage = storage.refs.load(std::memory_order_acquire);
  if (!value || !is_recorded(tensor)) return {of_tensor, of_storage};
  const bool keeps_tensor = value->tensor->storage == &storage && value->tensor->unique();
  return {of_tensor - (value->tensor.get() == &tensor), of_storage - 1 - keeps_tensor};
}

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
  if (!is_whole || storage.size_class < 0 || storage.nbytes <= kInlineStorage) return false;
  const auto readers =
      std::ranges::count(segment_->inputs, self.storage, [](const Input& in) { return in.storage.get(); });
  return storage.refs.load(std::memory_order_acquire) == 1 + readers && storage.awaited.load() == readers;
}

// Moves the tensor's memory to an input of the segment, which its recorded readers read from then on.
Operand Recorder::take_memory(TensorImpl& self) {
  const Ref<Storage> taken = make_unfilled_storage(self.storage->nbytes);
  for (Input& input : segment_->inputs) {
    if (input.storage.get() != self.storage) continue;
    self.storage->awaited.fetch_sub(1, std::memory_order_relaxed);
    taken->awaited.fetch_add(1, std::memory_order_relaxed);
    input.storage = Ref<Storage>::share(taken.get());
  }
  move_memory(*self.storage, *taken);
  const Operand operand = operand_of(*tensor_of(*taken, self.shape(), self.stride(), 0, self.dtype));
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

}  // namespace

namespace {

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

void Recorder::clear() {
  for (Input& input : segment_->inputs) input.storage->awaited.fetch_sub(1, std::memory_order_relaxed);
  for (Value& value : segment_->values) {
    if (!value.tensor) continue;  // overwritten
    value.storage->context = nullptr;
    if (value.tensor->storage == value.storage.get() && value.storage->host)
      value.tensor->flags &= static_cast<uint16_t>(~TensorImpl::kNoMemory);
  }
  // Destroying tensors may call back into the recorder.
  std::unique_ptr<Segment> done = std::move(segment_);
  if (spares_.empty()) {
    segment_ = std::make_unique<Segment>();
  } else {
    segment_ = std::move(spares_.back());
    spares_.pop_back();
  }
  done->reset();
  spares_.push_back(std::move(done));
}

void Recorder::run(const char* reason) {
  std::vector<GroupEntry*> wanted;
  {
    const auto guard = lock();
    if (segment_->empty()) return;
    if (watched_) note(Event::Kind::Flushed, running, static_cast<int64_t>(segment_->nodes.size()), reason);
    const ExcludeKeys eager(Key::Lazy);
    const SegmentPlan& plan = plans_.plan_of(*segment_);
    if (!run_segment(*segment_, plan, counts_, wanted)) return;  // somebody else finished it meanwhile
    clear();
  }
  for (GroupEntry* entry : wanted) request_group(entry->number, entry->description);
}

// ------------------------------------------------------------------------------------------ the handler

namespace {

bool find_recorded(TensorImpl& tensor) {
  Storage& storage = *tensor.storage;
  if (storage.nbytes == 0 || storage.deleter) return false;
  const auto* value = static_cast<const Value*>(storage.context);
  if (!storage.host && !value) return false;
  // Another thread's run may have filled it and still have readers to run; the caller may be about to write to it.
  const bool is_others = value && value->recorder != &Recorder::of_this_thread();
  if (!storage.host || is_others) value->recorder->run("a recorded value is read");
  tensor.flags &= static_cast<uint16_t>(~TensorImpl::kNoMemory);
  return true;
}

class RunningOp {
 public:
  RunningOp(Recorder& recorder, const OpRecord* op) : recorder_(recorder), outer_(recorder.running) {
    recorder.running = op;
  }
  ~RunningOp() { recorder_.running = outer_; }

 private:
  Recorder& recorder_;
  const OpRecord* outer_;
};

int64_t elements_of(const OpCall& call) {
  int64_t numel = 0;
  for (int k = 0; k < call.num_args; ++k)
    if (call.args[k].is_tensor()) numel = std::max(numel, call.args[k].tensor->numel);
  return numel;
}

// Whether its kernel reads tensors through host() and calls Python only by dispatching.
bool is_own(const OpRecord& op) {
  constexpr std::string_view kOwn[] = {"aten::", "pellucid::", "derivative::"};
  return std::ranges::any_of(kOwn, [&](std::string_view space) { return op.qualified_name.starts_with(space); });
}

void handle_lazy(OpCall& call, void*) {
  const OpRecord& op = *call.op;
  const KeySet below = call.keys - Key::Lazy;
  if (op.kind == OpKind::Composite) {  // the ops it calls are recorded
    call.keys = below;
    const KernelEntry& entry = op.table[static_cast<int>(below.highest())];
    if (!entry.function) raise_no_kernel(call);
    entry.function(call, entry.context);
    if (Capture* capture = Capture::of_this_thread()) capture->see_results(call);
    return;
  }
  if (Capture* capture = Capture::of_this_thread()) return capture->run(call, below);
  Recorder& recorder = Recorder::of_this_thread();
  const bool is_plain = (below - kBackends).empty();
  const char* reason = is_plain ? recorder.record(call) : "a mode or a subclass sees it";
  if (!reason) return;
  if (op.kind == OpKind::DataDependent && recorder.refuses_reads() && refuse_read) refuse_read(op.schema.name.c_str());
  if (recorder.is_watched()) recorder.note(Event::Kind::Ran, &op, elements_of(call), reason);
  if (!is_plain || !is_own(op)) recorder.run("code that is not an op of Pellucid runs");
  // Launches are observed while a call is prepared: those of recorded ops must not be among them.
  if (preparation_request_of(call)) recorder.run("a call is being prepared for repeated calls");
  const RunningOp running(recorder, &op);
  const ExcludeKeys now(Key::Lazy);
  dispatch(call, below);
}

}  // namespace

void start_recording() {
  static const bool started = [] {
    core_hooks.find_recorded = find_recorded;
    core_hooks.run_readers = Recorder::run_readers;
    PreparedMap::record = [](const PreparedMap& map, OpCall& call, std::span<TensorImpl* const> tensors) {
      return Recorder::of_this_thread().record(map, call, tensors);
    };
    core_hooks.run_recorded = [] { Recorder::of_this_thread().run("other code begins"); };
    recording_hooks = {Recorder::holders,
                       [] { Recorder::of_this_thread().enter(false); },
                       [] { Recorder::of_this_thread().finish("the backward pass ends"); },
                       [](TensorImpl& leaf, TensorImpl* gradient) {
                         if (Capture* capture = Capture::of_this_thread()) capture->note_gradient(leaf, gradient);
                       },
                       [](TensorImpl& made, bool is_filled) {
                         if (Capture* capture = Capture::of_this_thread()) capture->note_made(made, is_filled);
                       },
                       [](const char* reason) {
                         if (Capture* capture = Capture::of_this_thread()) capture->fail(reason);
                       }};
    register_fallback(Key::Lazy, {handle_lazy, nullptr});
    return true;
  }();
  static_cast<void>(started);
}

}  // namespace pellucid::record
