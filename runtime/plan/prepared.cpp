#include "plan/prepared.h"

#include <algorithm>

#include "core/thread_pool.h"
#include "kernels/copy.h"
#include "kernels/scratch.h"
#include "plan/executor.h"
#include "plan/steps.h"
#include "products/gemm.h"
#include "timeline/routes.h"

namespace pellucid {

// ---------------------------------------------------------------------------------------- replaying

namespace {

// The values of a running call: the inputs, borrowed, and the values that the call makes, owned.
class CallValues {
 public:
  CallValues(const Plan& plan, std::span<TensorImpl* const> inputs)
      : begin_(plan.num_inputs), end_(plan.values.size()) {
    std::copy_n(inputs.data(), begin_, values_);
    std::fill(values_ + begin_, values_ + end_, nullptr);
  }
  ~CallValues() {
    for (size_t k = begin_; k < end_; ++k)
      if (values_[k]) Tensor::adopt(values_[k]);
  }
  CallValues(const CallValues&) = delete;
  CallValues& operator=(const CallValues&) = delete;

  TensorImpl& operator[](uint16_t number) const { return *values_[number]; }
  void set(uint16_t number, Tensor tensor) { values_[number] = tensor.leak(); }
  TensorImpl* take(uint16_t number) { return std::exchange(values_[number], nullptr); }
  TensorImpl** data() { return values_; }

 private:
  const size_t begin_, end_;
  TensorImpl* values_[kInlineValues];
};

}  // namespace

Tensor made_by(const PreparedAction& action) {
  return action.geometry ? empty(*action.geometry, action.dtype) : empty(action.sizes, action.dtype);
}

Tensor view_by(const PreparedAction& action, TensorImpl& source, bool detached) {
  const int64_t offset = source.offset + action.offset;
  return action.geometry ? make_view(source, *action.geometry, offset, detached)
                         : make_view(source, action.sizes, action.strides, offset, detached);
}

int64_t launch(const PreparedAction& action, TensorImpl* const* values) {
  char* data[kMaxNestOperands];
  size_t count = 0;
  for (const PreparedPointer& pointer : action.pointers)
    data[count++] = pointer.value == kNullPointer ? nullptr : values[pointer.value]->host() + pointer.offset;
  return launch(action, data);
}

int64_t launch(const PreparedAction& action, char* const* data) {
  if (!action.needs_workspace) [[likely]]
    return action.kernel->run(data, action.sizes.data(), action.strides.data(), action.params.data());
  note_route(ProductRoute::InPlace);  // no other driver launches the kernel of whole products
  const int64_t* const s = action.sizes.data();
  const Scratch workspace = product_workspace(s[0], s[1], s[2], static_cast<int64_t>(item_size(action.dtype)));
  uint64_t params[kMaxStepParams];
  std::ranges::copy(action.params, params);
  params[0] = reinterpret_cast<uint64_t>(workspace.data());
  return action.kernel->run(data, action.sizes.data(), action.strides.data(), params);
}

bool PreparedCall::run(OpCall& call, std::span<TensorImpl* const> inputs) const {
  const bool detached = call.op->kind != OpKind::View;
  if (is_view) {
    call.rets[0] = Value::of(view_by(actions[0], *inputs[actions[0].source], detached).leak());
    return true;
  }
  CallValues values(plan, inputs);
  for (const PreparedAction& action : actions) {
    switch (action.kind) {
      case PreparedAction::Kind::Make: values.set(action.value, made_by(action)); break;
      case PreparedAction::Kind::Fill: fill_elements(values[action.value], action.element); break;
      case PreparedAction::Kind::View:
        values.set(action.value, view_by(action, values[action.source], detached));
        break;
      case PreparedAction::Kind::Launch: {
        const StepScope event(*action.step);
        if (const int64_t status = launch(action, values.data())) [[unlikely]]
          check_status(plan, call, *action.step, status);
        break;
      }
    }
  }
  if (gives_one_tensor) [[likely]]
    call.rets[0] = Value::of(values.take(plan.outputs[0]));
  else give_results(plan, values.data(), call);
  return true;
}

// A plan that reads indices needs its call's tensors to report a wrong one, and results with negative strides are
// copied.
bool PreparedCall::list(size_t num_tensors, PreparedList& into) const {
  const bool makes_all = std::ranges::all_of(plan.outputs, [&](uint16_t value) { return value >= plan.num_inputs; });
  if (num_tensors != plan.num_inputs || !plan.indexed.empty() || !makes_all) return false;
  into.actions = actions;
  into.results = plan.outputs;
  return true;
}

void PreparedCall::fail(const OpRecord& op, const PreparedAction& action, int64_t status) const {
  check_status(plan, {&op, nullptr, nullptr, 0}, *action.step, status);
}

// ---------------------------------------------------------------------------------------- recording

namespace {

constexpr size_t kMaxActions = 24;

// Records one run of a frame.
class Recorder final : public LaunchRecorder {
 public:
  explicit Recorder(Frame& frame) : frame_(frame), outer_(thread_state.launch_recorder) {
    possible_ = frame.plan.values.size() <= kInlineValues;
    for (uint16_t number = 0; number < frame.plan.num_inputs; ++number) possible_ &= frame.value(number)->numel != 0;
  }
  ~Recorder() { thread_state.launch_recorder = outer_; }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  bool possible() const { return possible_ && actions_.size() <= kMaxActions; }
  PreparedActions take() { return std::move(actions_); }

  void run(const Step& step) {
    step_ = &step;
    std::vector<uint16_t> made;
    for (const Operand& output : step.outputs)
      if (!frame_.value(output.value)) made.push_back(output.value);
    launches_.clear();
    thread_state.launch_recorder = possible_ ? this : outer_;
    run_step(frame_, step);
    thread_state.launch_recorder = outer_;
    if (possible_) write_down(step, made);
  }

  void launch(KernelRef& kernel, char* const* data, const int64_t* sizes, const int64_t* strides,
              const uint64_t* params) override {
    if (!step_->kernel || &kernel != &step_->kernel->kernel || launches_.size() == kMaxActions) return fail();
    const size_t operands = step_->outputs.size() + step_->inputs.size();
    const bool is_product = step_->kind == StepKind::Gemm;
    PreparedAction action;
    action.kind = PreparedAction::Kind::Launch;
    action.step = step_;
    action.kernel = &kernel;
    size_t num_data = operands, num_sizes = 2, num_strides = 2 * operands, num_params = step_->kernel->params.size();
    if (is_product) {
      constexpr int kMode = 2;
      if (params[kMode] != 0) return fail();  // a part of a product, whose arguments mean something else
      num_data = 4, num_sizes = 3, num_strides = 8, num_params = 3;
      action.needs_workspace = true;
      action.dtype = frame_.value(operand(0).value)->dtype;
    } else if (step_->kind == StepKind::Nest) {
      num_strides = dimensions();
      num_sizes = 1 + std::max<size_t>(step_->extents.size(), 1) + num_strides;
    }
    for (size_t k = 0; k < num_data; ++k)
      action.pointers.push_back(is_product ? find(data[k], operands) : relative(data[k], operand(k).value));
    action.sizes.assign(sizes, sizes + num_sizes);
    action.strides.assign(strides, strides + num_strides);
    action.params.assign(params, params + num_params);
    launches_.push_back(std::move(action));
  }

  void share_work() override { fail(); }

 private:
  // Later launches need not be reported: there may be thousands.
  void fail() {
    possible_ = false;
    thread_state.launch_recorder = outer_;
  }

  PreparedAction& add(PreparedAction::Kind kind) {
    actions_.emplace_back().kind = kind;
    return actions_.back();
  }

  // The total number of dimensions of all operands.
  size_t dimensions() const {
    size_t count = 0;
    for (const auto* list : {&step_->outputs, &step_->inputs})
      for (const Operand& operand : *list) count += frame_.value(operand.value)->ndim;
    return count;
  }

  const Operand& operand(size_t k) const {
    const size_t outputs = step_->outputs.size();
    return k < outputs ? step_->outputs[k] : step_->inputs[k - outputs];
  }

  bool leads_into(const char* pointer, uint16_t value) const {
    const Storage& storage = *frame_.value(value)->storage;
    const char* start = static_cast<const char*>(storage.host);
    return pointer >= start && pointer < start + storage.nbytes;
  }

  PreparedPointer relative(const char* pointer, uint16_t value) {
    if (!leads_into(pointer, value)) fail();
    return {value, pointer - frame_.value(value)->host()};
  }

  // A product may swap its operands, so its pointers are identified by the memory they point to.
  PreparedPointer find(const char* pointer, size_t operands) {
    if (!pointer) return {kNullPointer, 0};
    const Operand* found = nullptr;
    for (size_t k = 0; k < operands; ++k) {
      if (!leads_into(pointer, operand(k).value)) continue;
      if (found && found->value != operand(k).value) fail();
      found = &operand(k);
    }
    if (found) return relative(pointer, found->value);
    fail();
    return {kNullPointer, 0};
  }

  void write_down(const Step& step, std::span<const uint16_t> made) {
    switch (step.kind) {
      case StepKind::View:
      case StepKind::Reshape: return add_view(step);
      case StepKind::Map:
      case StepKind::Reduce:
      case StepKind::Rows:
      case StepKind::Scan:
      case StepKind::Gemm:
      case StepKind::Nest:
      case StepKind::Fill: break;
      default: return fail();
    }
    if (launches_.empty() && step.kind != StepKind::Fill) return fail();
    for (uint16_t number : made) add_value(number);
    if (step.kind == StepKind::Fill || is_filled(step))
      for (const Operand& output : step.outputs) add_fill(output.value, value_of(step.constant));
    for (uint8_t number : step.sums) add_fill(step.outputs[number].value, Value::of_int(0));
    std::ranges::move(launches_, std::back_inserter(actions_));
  }

  void add_fill(uint16_t number, const Value& value) {
    PreparedAction& fill = add(PreparedAction::Kind::Fill);
    fill.value = number;
    fill.dtype = frame_.value(number)->dtype;
    fill.element = element_of(frame_.value(number)->dtype, value);
  }

  void add_value(uint16_t number) {
    const TensorImpl& tensor = *frame_.value(number);
    if (tensor.numel == 0) return fail();
    PreparedAction& make = add(PreparedAction::Kind::Make);
    make.value = number;
    make.dtype = tensor.dtype;
    if (Geometry::fits(tensor) && Geometry(tensor).is_small()) make.geometry.emplace(tensor);
    else make.sizes.assign(tensor.sizes, tensor.sizes + tensor.ndim);
  }

  void add_view(const Step& step) {
    const uint16_t number = step.outputs[0].value, from = step.inputs[0].value;
    const TensorImpl &view = *frame_.value(number), &source = *frame_.value(from);
    if (view.storage != source.storage) return fail();  // a reshape that copied
    if (std::ranges::any_of(view.stride(), [](int64_t stride) { return stride < 0; }))
      return fail();  // copied when it leaves the plan
    PreparedAction& action = add(PreparedAction::Kind::View);
    action.value = number;
    action.source = from;
    action.offset = view.offset - source.offset;
    if (Geometry::fits(view)) return static_cast<void>(action.geometry.emplace(view));
    action.sizes.assign(view.sizes, view.sizes + view.ndim);
    action.strides.assign(view.strides, view.strides + view.ndim);
  }

  Frame& frame_;
  LaunchRecorder* const outer_;
  const Step* step_ = nullptr;
  bool possible_ = true;
  PreparedActions actions_, launches_;
};

}  // namespace

std::optional<PreparedActions> run_and_record(Frame& frame) {
  Recorder recorder(frame);
  frame.each_step([&](const Step& step) { recorder.run(step); });
  if (!recorder.possible()) return std::nullopt;
  return recorder.take();
}

std::unique_ptr<PreparedCall> run_and_prepare(Frame& frame, std::shared_ptr<const void> owner, const CallFacts& facts) {
  std::optional<PreparedActions> actions = run_and_record(frame);
  if (!actions) return nullptr;
  const auto& returns = frame.call.op->schema.returns;
  const bool gives_one_tensor = returns.size() == 1 && !returns[0].is_list && frame.plan.outputs.size() == 1 &&
                                frame.plan.outputs[0] >= frame.plan.num_inputs;
  return std::make_unique<PreparedCall>(frame.plan, std::move(owner), gives_one_tensor, facts, std::move(*actions));
}

}  // namespace pellucid
