#include "ops/late_ops.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "autograd/tensor_history.h"
#include "autograd/view_history.h"
#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/hooks.h"
#include "core/layout.h"
#include "core/named_ops.h"
#include "core/owned_results.h"
#include "core/pending.h"
#include "core/thread_state.h"
#include "ops/graph_op.h"
#include "ops/op_table.h"
#include "plan/records.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {

BoxedKernel run_composite = nullptr;

namespace {

FORK_SAFE ForkSafeRecursiveMutex mutex;
struct LateOps {
  std::unordered_map<std::string_view, std::span<const uint8_t>> undefined;  // op name: its encoded records
  std::vector<LateBinding> bindings;
  std::unordered_set<const OpRecord*> defined;
};
LateOps& late_ops() {
  static auto* made = new LateOps;
  return *made;
}

// A record that redirects to another one: for each of the other's arguments, where it comes from. kDefault: its
// default; kDeviceOfOut: the device of the first argument that the record writes.
constexpr int8_t kDefault = -1, kDeviceOfOut = -2;
struct Redirection {
  const OpRecord* target;
  std::vector<int8_t> sources;
};

// The arguments for the target: borrowed values, owned by `call`; numbers are converted where the target takes
// only tensors.
class TargetCall {
 public:
  TargetCall(OpCall& call, const Redirection& to, Value* results) : args_(0) {
    const auto& declared = to.target->schema.arguments;
    for (size_t i = 0; i < to.sources.size(); ++i) {
      const Value given = to.sources[i] >= 0              ? call.args[to.sources[i]]
                          : to.sources[i] == kDeviceOfOut ? device_of_out(call)
                                                          : declared[i].default_value;
      new (&args_[i]) Value(given);
      if (declared[i].type == ArgType::Tensor && given.is_number()) args_[i] = wrapped(given);
    }
    call_ = {to.target, args_.data(), results, static_cast<uint8_t>(to.sources.size()), {}};
  }
  void run() { dispatch(call_); }
  const OpCall& call() const { return call_; }

 private:
  static Value device_of_out(const OpCall& call) {
    const auto& arguments = call.op->schema.arguments;
    const auto written = std::ranges::find(arguments, true, &Argument::written);
    Value device = Value::of_int(encode_device(call.args[written - arguments.begin()].tensor->device));
    device.tag = Tag::Device;
    return device;
  }
  Value wrapped(const Value& number) {
    numbers_.push_back(wrap_number(number));
    return Value::of(numbers_.back().get());
  }

  Values<kMaxArguments> args_;
  std::vector<Tensor> numbers_;
  OpCall call_{};
};

void run_redirected(OpCall& call, void* context) {
  TargetCall(call, *static_cast<const Redirection*>(context), call.rets).run();
}

// Runs a view and copies its result to row-major memory.
void run_copied(OpCall& call, void* context) {
  OpRecord& clone = named_op(NamedOp::Clone);
  Value view[1];
  TargetCall(call, *static_cast<const Redirection*>(context), view).run();
  const Tensor shown = Tensor::adopt(view[0].tensor);
  Value row_major = Value::of_int(static_cast<int64_t>(MemoryFormat::Contiguous));
  row_major.tag = Tag::MemoryFormat;
  call.rets[0] = Value::of(call_op(clone, {Value::of(shown.get()), row_major}).leak());
}

// Of results, and of the tensors that they are written to: operands may require gradients that no result has.
void refuse_gradients(const OpCall& call, std::span<const Tensor> results) {
  if (call.op->variant != Variant::Out || !thread_state.grad_mode) return;
  const auto is_recorded = [](const Tensor& result) { return result && result->requires_grad(); };
  const bool any = std::ranges::any_of(results, is_recorded);
  for (int i = 0; i < call.num_args; ++i)
    if (call.args[i].is_tensor() && call.args[i].tensor->requires_grad() &&
        (any || call.op->schema.arguments[i].written))
      raise(ErrorKind::Runtime,
            "%s(): with out=, gradients cannot be recorded, but one of the arguments requires them.\n"
            "Omit out=, call it under torch.no_grad(), or detach the arguments.",
            call.op->schema.name.c_str());
}

void write_into(const OpCall& call, TensorImpl& destination, TensorImpl& result) {
  if (&destination == &result) {
    check_in_place(call.op->schema.name.c_str(), destination, thread_state.grad_mode && requires_grad(destination));
    return;
  }
  prepare_destination(call, destination, result);
  call_op(NamedOp::Copy, {Value::of(&destination), Value::of(&result)});
}

// Runs the target and writes its results where the call says: in-place and out= forms of ops without a kernel for them.
void run_into(OpCall& call, void* context) {
  const auto& to = *static_cast<const Redirection*>(context);
  Values<kMaxReturns> results(to.target->schema.returns.size());
  TargetCall target(call, to, results.data());
  target.run();
  std::vector<Tensor> owned;
  OwnedResults(target.call()).take_each([&](Tensor result) { owned.push_back(std::move(result)); });
  refuse_gradients(call, owned);
  OwnedResults written(call);  // those already written, if a later one cannot be written
  const auto& arguments = call.op->schema.arguments;
  size_t next = 0;
  for (size_t i = 0; i < arguments.size() && next < owned.size(); ++i) {
    if (!arguments[i].written) continue;
    TensorImpl& destination = *call.args[i].tensor;
    if (!owned[next])
      raise(ErrorKind::Runtime, "%s: the op has no result to write there", call.op->schema.name.c_str());
    write_into(call, destination, *owned[next]);
    call.rets[next++] = Value::of(Tensor::share(&destination).leak());
  }
  written.pass_on();
}

// Maps arguments by name; the call's destinations are not arguments of the target.
Redirection* redirection_to(const OpRecord& target, const Schema& from) {
  auto* made = new Redirection{&target, {}};  // lives as long as the record, which is forever
  for (const Argument& wanted : target.schema.arguments) {
    const auto found = std::ranges::find(from.arguments, wanted.name, &Argument::name);
    if (found == from.arguments.end() && !wanted.has_default)
      raise(ErrorKind::Value, "the op table's %s passes no %s to %s.\nRebuild pellucid.", from.text.c_str(),
            wanted.name.c_str(), target.qualified_name.c_str());
    const bool is_written = std::ranges::any_of(from.arguments, &Argument::written);
    const int8_t missing = wanted.type == ArgType::Device && is_written ? kDeviceOfOut : kDefault;
    const auto place = static_cast<int8_t>(found - from.arguments.begin());
    made->sources.push_back(found == from.arguments.end() ? missing : place);
  }
  return made;
}

void define_late(const encoded::LateRow& given) {
  OpRecord& record = *define_op(given.schema);
  late_ops().defined.insert(&record);
  record.variant = given.variant;
  const LateBody body = given.body;
  const std::string named(given.named);
  record.kind = OpKind::Composite;
  record.cast_rule = given.autocast;
  record.python_module = given.module;
  record.is_method = given.is_method;
  record.is_function = given.is_function;
  record.loose_tensors = given.is_variadic;
  record.gives_view = given.gives_view;
  record.casts_out = given.casts_out;
  record.tags = given.tags;
  if (body == LateBody::Composite) {
    const size_t colon = named.find(':');
    register_catch_all(record, {run_composite, new CompositeBody{named.substr(0, colon), named.substr(colon + 1)}});
  } else {
    const OpRecord& target = required_op(named.c_str());
    const BoxedKernel run = body == LateBody::Redirect ? run_redirected
                            : body == LateBody::CopyOf ? run_copied
                                                       : run_into;
    register_catch_all(record, {run, redirection_to(target, record.schema)});
    if (body == LateBody::Redirect) record.kind = target.kind;
    if (body == LateBody::OutOf || body == LateBody::InPlaceOf) record.functional = &target;
  }
  for (const Key key : {Key::Autograd, Key::ViewInPlace, Key::Transforms}) register_fall_through(record, key);
  fall_through_pending(record);
  if (!given.is_seen) register_fall_through(record, Key::PythonDispatch);
  if (given.takes_parts)
    for (const Key key : {Key::Quantized, Key::Sparse, Key::Nested}) register_fall_through(record, key);
  if (core_hooks.run_with_casts && record.cast_rule != CastRule::None)
    register_kernel(record, Key::Autocast, {core_hooks.run_with_casts, nullptr}, /*replace=*/true);
}

}  // namespace

CompositeBody* composite_body(const OpRecord& op) {
  const KernelEntry& entry = op.table[static_cast<int>(Key::CPU)];
  return entry.function && entry.function == run_composite ? static_cast<CompositeBody*>(entry.context) : nullptr;
}

void install_late_ops(std::span<const uint8_t> file) {
  const std::lock_guard lock(mutex);
  LateOps& all = late_ops();
  Decoder in(file);
  const size_t count = in.list();
  all.undefined.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const auto given = in.record<encoded::LateOpRow>();
    for (const auto& [module, original, is_method, is_function] : given.bindings)
      all.bindings.push_back({given.name, module, original, is_method, is_function});
    all.undefined.emplace(given.name, given.records);
  }
}

void define_late_ops(std::string_view name) {
  const std::lock_guard lock(mutex);
  LateOps& all = late_ops();
  const auto found = all.undefined.find(name);
  if (found == all.undefined.end()) return;
  Decoder in(found->second);
  all.undefined.erase(found);  // first: a record may redirect to another one with the same name
  for (size_t count = in.list(); count--;) define_late(in.record<encoded::LateRow>());
}

void define_all_late_ops() {
  const std::lock_guard lock(mutex);
  LateOps& all = late_ops();
  while (!all.undefined.empty()) define_late_ops(all.undefined.begin()->first);
}

bool is_late(const OpRecord& op) {
  const std::lock_guard lock(mutex);
  LateOps& all = late_ops();
  return all.defined.contains(&op);
}

std::span<const LateBinding> late_bindings() { return late_ops().bindings; }

}  // namespace pellucid
