#include "ops/graph_op.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/dispatcher.h"
#include "core/donation.h"
#include "core/error.h"
#include "core/format.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "kernels/copy.h"
#include "kernels/layout.h"
#include "kernels/out_dtype.h"
#include "kernels/shared_elements.h"
#include "ops/filling.h"
#include "ops/op_table.h"
#include "ops/trace.h"
#include "plan/executor.h"
#include "plan/records.h"
#include "plan/result_layout.h"

namespace pellucid {

FORK_SAFE ForkSafeRecursiveMutex filling;

namespace {

GraphData& data_of(const OpCall& call) {
  const OpRecord& functional = call.op->functional ? *call.op->functional : *call.op;
  return static_cast<GraphData&>(*functional.kind_data);
}

// What keeps a plan alive; null for plans of the frozen file.
using PlanOwner = std::shared_ptr<PlanVariant>;

void read_frozen(const OpRecord& op, GraphData& data) {
  if (data.frozen_read.load(std::memory_order_acquire)) return;
  std::lock_guard lock(filling);
  if (data.frozen_read) return;
  FrozenOp& frozen = frozen_op(op);
  if (frozen.keys.size) {
    frozen.own_keys = frozen.keys.inflate();  // also after an attempt that raised: no plan points to the bytes
    add_plans(op, data, frozen.own_keys);
  }
  data.frozen_read.store(true, std::memory_order_release);
}

const Plan& decoded(PlanVariant& variant) {
  if (Plan* plan = variant.plan.load(std::memory_order_acquire)) return *plan;
  std::lock_guard lock(filling);
  const ProgramScope programs(variant.programs);
  if (!variant.plan.load()) variant.plan.store(decode_plan(variant.encoded).release(), std::memory_order_release);
  return *variant.plan.load();
}

// The variants of the call's key; null if the file has none.
const FrozenVariants* frozen_variants(const OpCall& call, GraphData& data, const KeyBuilder& key) {
  if (const FrozenVariants* found = data.frozen.find(key)) [[likely]]
    return found;
  read_frozen(call.op->functional ? *call.op->functional : *call.op, data);
  return data.frozen.find(key);
}

std::shared_ptr<const TracedVariants> traced_variants(GraphData& data, const KeyBuilder& key) {
  const auto found = data.traced.find(key);
  return found ? found->load() : nullptr;
}

std::shared_ptr<PlanVariant> trace_variant(const OpCall& call, GraphData& data, const KeyBuilder& key) {
  auto made = std::make_shared<PlanVariant>();
  Traced traced = trace("plan", call);
  made->owned = std::move(traced.answer);
  made->programs = std::move(traced.programs);
  made->encoded = {reinterpret_cast<const uint8_t*>(made->owned.data()), made->owned.size()};
  std::lock_guard lock(filling);
  const auto list = data.traced.add(key);
  auto longer = std::make_shared<TracedVariants>(TracedVariants{made});  // readers continue with the list they have
  if (const auto known = list->load()) {
    for (const auto& variant : *known)
      if (variant->owned == made->owned) return variant;  // another thread was faster
    longer->insert(longer->end(), known->begin(), known->end());
  }
  list->store(std::move(longer));
  return made;
}

// Applies `use` to a frame of the first variant whose guards hold.
template <class Use>
void with_frame(OpCall& call, Device device, Use&& use) {
  GraphData& data = data_of(call);
  const FlatTensors inputs(call);
  KeyBuilder key;
  key.add_call(call);
  const auto is_used = [&](PlanVariant& variant, const PlanOwner& owner) {
    Frame frame(decoded(variant), call, inputs.span(), device);
    frame.donation = donation_to(call);
    if (!frame.bind()) return false;
    use(frame, inputs.span(), owner);
    return true;
  };
  if (const FrozenVariants* variants = frozen_variants(call, data, key)) [[likely]]
    for (FrozenVariant* item = variants->first.load(std::memory_order_acquire); item; item = item->next.get())
      if (is_used(item->variant, nullptr)) return;
  if (const auto variants = traced_variants(data, key))
    for (const std::shared_ptr<PlanVariant>& variant : *variants)
      if (is_used(*variant, variant)) return;
  const auto variant = trace_variant(call, data, key);
  if (!is_used(*variant, variant))
    raise(ErrorKind::Runtime, "%s: the plan that was traced for this call does not fit it; this is a fault of pellucid",
          call.op->schema.name.c_str());
}

// Whether input `input` is read only by the step that initialises result `number` as a copy of it.
bool starts_as_copy(const Plan& plan, uint16_t number, size_t input) {
  bool copies = false;
  for (const Step& step : plan.steps)
    for (const Operand& operand : step.inputs) {
      if (operand.value != input) continue;
      if (step.kind != StepKind::Copy || step.outputs[0].value != number) return false;
      copies = true;
    }
  return copies;
}

// Whether the result can be computed in its destination: nothing else reads or writes that memory.
bool may_write_directly(const OpCall& call, const Frame& frame, uint16_t number, TensorImpl& destination) {
  const Plan& plan = frame.plan;
  if (!destination.is_contiguous() || destination.dtype != plan.values[number].dtype) return false;
  if (destination.device.type == DeviceType::Meta || std::ranges::count(plan.outputs, number) > 1) return false;
  for (size_t k = 0; k < plan.num_inputs; ++k) {
    TensorImpl& input = *frame.value(static_cast<uint16_t>(k));
    if (input.storage == destination.storage && (&input != &destination || !starts_as_copy(plan, number, k)))
      return false;
  }
  for (int k = 0; k < call.num_args; ++k)
    if (call.op->schema.arguments[k].written && call.args[k].tensor != &destination &&
        call.args[k].tensor->storage == destination.storage)
      return false;
  return true;
}

// In-place and out= variants compute directly in their destinations if possible.
void offer_destinations(Frame& frame, const OpCall& call) {
  const std::vector<Argument>& arguments = call.op->schema.arguments;
  size_t result = 0;
  for (size_t k = 0; k < arguments.size() && result < frame.plan.outputs.size(); ++k) {
    if (!arguments[k].written) continue;
    const uint16_t number = frame.plan.outputs[result++];
    TensorImpl& destination = *call.args[k].tensor;
    if (!may_write_directly(call, frame, number, destination)) continue;
    before_write(*destination.storage);
    frame.offer(number, destination);
    destination.bump_version();  // before the run, because the plan may fail after its first writes
  }
}

// Sums over many elements are always computed in separate memory, so the destination may overlap an operand. Ops
// that move or update elements are refused if part of an operand would be written, although here the read would
// precede the write; those with an index also if all of one would be, except their first, which may be the tensor that
// they update.
bool may_write_parts_of_operands(const OpRecord& op) {
  return op.kind == OpKind::Reduction || op.kind == OpKind::Contraction || op.kind == OpKind::Fused;
}

void require_separate_operand(const OpCall& call, const TensorImpl& written, const TensorImpl& operand) {
  const MemoryOverlap overlap = memory_overlap(written, operand);
  if (overlap == MemoryOverlap::Partial) require_no_partial_overlap(written, operand);
  if (overlap != MemoryOverlap::Full) return;
  raise(ErrorKind::Runtime,
        "unsupported operation: %s() reads the memory that it writes at an index (shape %s).\nClone the operand first",
        call.op->schema.name.c_str(), format_sizes(written.shape()).c_str());
}

void require_separate_destinations(const OpCall& call, std::span<TensorImpl* const> inputs) {
  if (may_write_parts_of_operands(*call.op)) return;
  const bool has_index = data_of(call).has_index;
  const std::vector<Argument>& arguments = call.op->schema.arguments;
  for (size_t k = 0; k < arguments.size(); ++k) {
    if (!arguments[k].written) continue;
    const TensorImpl& written = *call.args[k].tensor;
    for (size_t number = 0; number < inputs.size(); ++number)
      if (has_index && number > 0) require_separate_operand(call, written, *inputs[number]);
      else require_no_partial_overlap(written, *inputs[number]);
  }
}

// PyTorch refuses to compute a running value in another dtype and convert it to that of the tensor it is written to.
void require_dtype_of_destination(const OpCall& call) {
  const std::vector<Argument>& arguments = call.op->schema.arguments;
  const DType written = call.args[0].tensor->dtype;
  for (size_t k = 1; k < arguments.size(); ++k)
    if (arguments[k].type == ArgType::DType && !call.args[k].is_none() &&
        static_cast<DType>(call.args[k].integer) != written)
      raise(ErrorKind::Runtime, "%s(): dtype is %s, but the tensor it is written to has dtype %s",
            call.op->schema.name.c_str(), type_word(static_cast<DType>(call.args[k].integer)), type_word(written));
}

void write_result(const OpCall& call, TensorImpl& destination, TensorImpl& result) {
  prepare_destination(call, destination, result);
  if (&destination == &result) return;
  before_write(*destination.storage);
  if (writes_shared_elements(call, destination)) write_changed(destination, result);
  else if (destination.device.type != DeviceType::Meta) copy_elements(destination, result);
  destination.bump_version();
}

// In-place and out= variants: writes the functional results to where the schema says.
void write_results(Frame& frame, OpCall& call) {
  const std::vector<Argument>& arguments = call.op->schema.arguments;
  size_t result = 0;
  for (size_t k = 0; k < arguments.size() && result < frame.plan.outputs.size(); ++k) {
    if (!arguments[k].written) continue;
    TensorImpl& destination = *call.args[k].tensor;
    write_result(call, destination, *frame.value(frame.plan.outputs[result]));
    call.rets[result++] = Value::of(Tensor::share(&destination).leak());
  }
}

// The functional call for results that are written to out=. A factory's result has the dtype of out=; so has a
// sum, product or mean, which is then computed in it.
class CallForDestination {
 public:
  explicit CallForDestination(OpCall& call) : given_(call), call_(call) {
    const OpKind kind = call.op->kind;
    if (call.op->variant != Variant::Out) return;
    if (kind != OpKind::Reduction && kind != OpKind::Scan && kind != OpKind::Factory) return;
    const std::vector<Argument>& wanted = call.op->functional->schema.arguments;
    const DType dtype = call.args[call.op->schema.arguments.size() - 1].tensor->dtype;
    for (size_t k = 0; k < wanted.size(); ++k) {
      changed_[k] = argument_named(wanted[k]);
      if (wanted[k].type == ArgType::DType) take_dtype(changed_[k], dtype);
    }
    call_ = {call.op, changed_, call.rets, static_cast<uint8_t>(wanted.size()), call.keys};
    is_changed_ = true;
  }
  OpCall& get() { return is_changed_ ? call_ : given_; }

 private:
  Value argument_named(const Argument& wanted) const {
    const std::vector<Argument>& given = call_.op->schema.arguments;
    const auto found = std::ranges::find(given, wanted.name, &Argument::name);
    return found == given.end() ? wanted.default_value : call_.args[found - given.begin()];
  }
  void take_dtype(Value& value, DType dtype) const {
    if (value.is_none()) value = Value::of_dtype(dtype);
    else if (static_cast<DType>(value.integer) != dtype)
      raise(ErrorKind::Runtime, "%s(): dtype is %s, but out= has dtype %s; give one of them",
            call_.op->schema.name.c_str(), type_word(static_cast<DType>(value.integer)), type_word(dtype));
  }

  OpCall& given_;
  OpCall call_;
  Value changed_[kMaxArguments];
  bool is_changed_ = false;
};

void run(OpCall& call, Device device) {
  CallForDestination computed(call);
  with_frame(computed.get(), device, [&](Frame& frame, std::span<TensorImpl* const> inputs, const PlanOwner&) {
    if (call.op->variant != Variant::Functional) {
      if (call.op->variant == Variant::InPlace) require_dtype_of_destination(call);
      require_separate_destinations(call, inputs);
      offer_destinations(frame, call);
      frame.run();
      return write_results(frame, call);
    }
    const ResultLayoutScope results(frame, call, data_of(call).layout);
    frame.run();
    results.finish(frame);
    give_results(frame.plan, frame.values(), call);
  });
}

// Runs the call and caches its prepared form.
void run_and_cache(OpCall& call, PreparedCalls& calls, const CallFacts& facts) {
  with_frame(call, {}, [&](Frame& frame, std::span<TensorImpl* const>, const PlanOwner& owner) {
    auto prepared = run_and_prepare(frame, owner, facts);
    if (PreparationRequest* request = preparation_request_of(call)) request->made = std::move(prepared);
    else if (prepared) calls.add(facts, std::move(prepared));
    give_results(frame.plan, frame.values(), call);
  });
}

}  // namespace

void prepare_destination(const OpCall& call, TensorImpl& destination, const TensorImpl& result) {
  require_dtype_of_written(call, result.dtype, destination.dtype, [&] {
    raise(ErrorKind::Runtime,
          "%s(): the result has dtype %s, which cannot be cast to %s of the tensor it is written to",
          call.op->schema.name.c_str(), std::string(name(result.dtype)).c_str(),
          std::string(name(destination.dtype)).c_str());
  });
  if (call.op->variant == Variant::Out) {
    resize_output(destination, result.shape());
  } else if (!std::ranges::equal(destination.shape(), result.shape())) {
    raise(ErrorKind::Runtime, "%s(): the result has shape %s, but the tensor it is written to has shape %s",
          call.op->schema.name.c_str(), format_sizes(result.shape()).c_str(),
          format_sizes(destination.shape()).c_str());
  }
  if (!writes_shared_elements(call, destination)) require_no_internal_overlap(destination);
}

void add_plans(const OpRecord& op, GraphData& data, std::span<const uint8_t> keys) {
  if (keys.empty()) return;
  Decoder in(keys);
  KeyCache<FrozenVariants> made;
  for (size_t count = in.list(); count--;) {
    auto given = in.record<encoded::KeyedPlan>();
    KeyBuilder key;
    key.add_items(given.key, op.schema);
    FrozenVariants& variants = made.add(key);
    auto item = std::make_unique<FrozenVariant>();
    item->variant.encoded = given.plan;
    item->variant.programs = ProgramScope::current();
    item->next.reset(variants.first.load(std::memory_order_relaxed));
    variants.first.store(item.release(), std::memory_order_release);
  }
  data.frozen.take(made);
}

constexpr Device kMeta{DeviceType::Meta};

// A factory has no operands with keys, so its `device` argument decides.
Device cpu_or_meta(const OpCall& call) {
  const bool is_meta = std::any_of(call.args, call.args + call.num_args, [](const Value& value) {
    return value.tag == Tag::Device && decode_device(value.integer).type == DeviceType::Meta;
  });
  return is_meta ? kMeta : Device{};
}

void run_unprepared(OpCall& call) {
  if (!ran_elsewhere(call)) run(call, cpu_or_meta(call));
}

void run_graph_op(OpCall& call, void*) {
  if (call.op->variant != Variant::Functional) return run(call, cpu_or_meta(call));
  const CallFacts facts(call);
  if (!facts.complete()) return run_unprepared(call);
  PreparedCalls& calls = data_of(call).prepared;
  const bool requested = preparation_request_of(call);
  if (const PreparedCall* prepared = calls.find(facts); prepared && !requested) [[likely]]
    return static_cast<void>(prepared->run(call, facts.tensors()));
  if (ran_elsewhere(call)) return;
  const Device device = cpu_or_meta(call);
  if (device != kMeta && results_are_row_major(call, data_of(call).layout) && (requested || calls.wants(facts)))
    return run_and_cache(call, calls, facts);
  run(call, device);
}

void run_graph_op_on(OpCall& call, Device device) { run(call, device); }

namespace {

// 0: some steps are of other kinds, or can fail depending on elements.
size_t count_passes(const Plan& plan) {
  size_t count = 0;
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::Compute) continue;
    if (step.kind != StepKind::Map && step.kind != StepKind::Reduce && step.kind != StepKind::Rows) return 0;
    if (!step.kernel->messages.empty()) return 0;
    ++count;
  }
  return count;
}

}  // namespace

size_t find_passes(OpCall& call) {
  if (!results_are_row_major(call, data_of(call).layout)) return 0;
  size_t count = 0;
  with_frame(call, kMeta, [&](Frame& frame, std::span<TensorImpl* const>, const PlanOwner&) {
    count = count_passes(frame.plan);
    if (!count) return;
    frame.run();
    give_results(frame.plan, frame.values(), call);
  });
  return count;
}

// A factory reads only the shape of its operand: zeros_like(x, device="cpu") of a meta tensor has memory.
void run_graph_op_meta(OpCall& call, void*) {
  const bool names_device =
      call.op->kind == OpKind::Factory && call.op->variant == Variant::Functional &&
      std::any_of(call.args, call.args + call.num_args, [](const Value& value) { return value.tag == Tag::Device; });
  if (!names_device) return run(call, kMeta);
  run_unprepared(call);
}

}  // namespace pellucid
