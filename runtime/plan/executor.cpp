#include "plan/executor.h"
#include "plan/index_error.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/geometry.h"
#include "kernels/copy.h"
#include "plan/host_step.h"
#include "plan/reuse.h"
#include "plan/steps.h"

namespace pellucid {

Frame::Frame(const Plan& plan, const OpCall& call, std::span<TensorImpl* const> inputs, Device device)
    : plan(plan), call(call), device(device), meta(device.type == DeviceType::Meta), inputs_(inputs) {
  const size_t num_registers = plan.program.initial.size(), num_values = plan.values.size();
  registers = inline_registers_;
  if (num_registers > kInlineRegisters) {
    spilled_registers_.resize(num_registers);
    registers = spilled_registers_.data();
  }
  values_ = inline_values_;
  if (num_values > kInlineValues) {
    spilled_values_.resize(num_values);
    values_ = spilled_values_.data();
  }
  std::copy_n(inputs.data(), plan.num_inputs, values_);
  std::fill(values_ + plan.num_inputs, values_ + num_values, nullptr);
}

Frame::~Frame() {
  for (size_t k = plan.num_inputs; k < plan.values.size(); ++k) release(static_cast<uint16_t>(k));
}

void Frame::release(uint16_t number) {
  if (TensorImpl* tensor = std::exchange(values_[number], nullptr)) Tensor::adopt(tensor);
}

void Frame::set(uint16_t number, TensorImpl* owned) {
  release(number);
  values_[number] = owned;
}

TensorImpl* Frame::make(uint16_t number) {
  const PlanValue& value = plan.values[number];
  int64_t sizes[kMaxDims];
  for (size_t d = 0; d < value.sizes.size(); ++d) sizes[d] = size(value.sizes[d]);
  for (const auto& [offered, destination] : offers_)
    if (offered == number && destination->device == device &&
        std::ranges::equal(destination->shape(), std::span(sizes, value.sizes.size()))) {
      set(number, Tensor::share(destination).leak());
      return destination;
    }
  const Sizes shape(sizes, value.sizes.size());
  const int64_t* const strides = layout_of(number);
  set(number,
      (strides ? empty_strided(shape, {strides, shape.size()}, value.dtype, device) : empty(shape, value.dtype, device))
          .leak());
  return values_[number];
}

TensorImpl& Frame::copied_input(uint16_t number, bool channels_innermost) {
  for (const Copied& copied : copies_)
    if (copied.number == number && copied.channels_innermost == channels_innermost) return *copied.copy;
  TensorImpl& input = *values_[number];
  if (!channels_innermost) return *copies_.emplace_back(Copied{number, false, row_major(input)}).copy;
  int64_t strides[kMaxDims];
  channels_last_strides(input.shape(), strides);
  Tensor copy = empty_strided(input.shape(), {strides, input.ndim}, input.dtype);
  copy_elements(*copy, input);
  return *copies_.emplace_back(Copied{number, true, std::move(copy)}).copy;
}

const int64_t* Frame::layout_of(uint16_t number) const {
  const auto found = std::ranges::find(chosen_strides_, number, &ChosenStrides::number);
  return found == chosen_strides_.end() ? nullptr : found->strides.data();
}

void Frame::set_strides(uint16_t number, std::span<const int64_t> strides) {
  std::ranges::copy(strides, chosen_strides_.emplace_back(ChosenStrides{number, {}}).strides.begin());
}

void Frame::offer(uint16_t number, TensorImpl& destination) { offers_.emplace_back(number, &destination); }

bool Frame::is_offered(uint16_t number) const {
  return std::ranges::any_of(offers_, [&](const auto& offer) { return offer.first == number; });
}

namespace {

// Whether a step computes the value, rather than making it a view of another value.
bool has_memory(const Plan& plan, uint16_t number) {
  return std::ranges::any_of(plan.steps, [&](const Step& step) {
    const bool is_view = step.kind == StepKind::View || step.kind == StepKind::Reshape;
    return !is_view && std::ranges::count(step.outputs, number, &Operand::value) != 0;
  });
}

}  // namespace

bool Frame::bind() {
  if (!bind(*this, {})) return false;
  if (!meta && call.op->variant == Variant::Functional) probe_large_results();
  return true;
}

// Allocates large results and frees them, so that a system that cannot hold them refuses before anything is computed.
void Frame::probe_large_results() const {
  constexpr int64_t kLarge = int64_t{1} << 30;  // bytes
  for (const uint16_t number : plan.outputs) {
    if (number < plan.num_inputs) continue;
    const PlanValue& value = plan.values[number];
    int64_t nbytes = static_cast<int64_t>(item_size(value.dtype));
    bool is_known = true;  // sizes that depend on data are not known yet
    for (const uint16_t dim : value.sizes)
      is_known &= size(dim) > 0 && !__builtin_mul_overflow(nbytes, size(dim), &nbytes);
    if (is_known && nbytes >= kLarge && has_memory(plan, number) && !may_take_operand(*this, number))
      static_cast<void>(allocate_storage(static_cast<size_t>(nbytes), device));
  }
}

bool Frame::bind(const Frame& outer, std::span<const std::pair<uint16_t, uint16_t>> bound) {
  const RegisterProgram& program = plan.program;
  std::ranges::copy(program.initial, registers);
  for (const auto& [inner, given] : bound) registers[inner] = outer.registers[given];
  return run_program(program, 0, plan.start, call, inputs_.data(), registers);
}

// On Meta, a call that reads data for its own steps alone, such as an assignment by a mask, needs none of them for its
// results. A register depends on lower ones only.
bool Frame::make_results_without_data() {
  const auto reads = std::ranges::find(plan.steps, StepKind::Nonzero, &Step::kind);
  if (reads == plan.steps.end()) return false;
  for (const uint16_t number : plan.outputs)
    for (const uint16_t dim : plan.values[number].sizes)
      if (number >= plan.num_inputs && dim >= reads->count) return false;
  for (const uint16_t number : plan.outputs)
    if (number >= plan.num_inputs) make(number);
  return true;
}

void Frame::run() {
  if (meta && make_results_without_data()) return;
  each_step([this](const Step& step) { run_step(*this, step); });
}

namespace {

bool has_negative_stride(const TensorImpl& tensor) {
  return std::ranges::any_of(tensor.stride(), [](int64_t stride) { return stride < 0; });
}

// Plans may reverse dims, but no tensor that leaves them has negative strides.
TensorImpl* copy_without_negative_strides(TensorImpl& tensor) {
  Tensor copy = empty(tensor.shape(), tensor.dtype, tensor.device);
  if (tensor.device.type != DeviceType::Meta) copy_elements(*copy, tensor);
  return copy.leak();
}

TensorImpl* take_value(const Plan& plan, TensorImpl** values, size_t k) {
  const uint16_t number = plan.outputs[k];
  for (size_t later = k + 1; later < plan.outputs.size(); ++later)
    if (plan.outputs[later] == number) return Tensor::share(values[number]).leak();
  return std::exchange(values[number], nullptr);
}

}  // namespace

void give_results(const Plan& plan, TensorImpl** values, OpCall& call) {
  const Schema& schema = call.op->schema;
  const size_t count = plan.outputs.size();
  // Whatever may fail comes first: after an error nobody would release results already handed over.
  for (const uint16_t number : plan.outputs)
    if (has_negative_stride(*values[number])) [[unlikely]]
      Tensor::adopt(std::exchange(values[number], copy_without_negative_strides(*values[number])));
  if (schema.returns.size() == 1 && schema.returns[0].is_list) {
    auto* tensors = new TensorImpl*[count];
    for (size_t k = 0; k < count; ++k) tensors[k] = take_value(plan, values, k);
    call.rets[0] = Value::of(std::span<TensorImpl* const>(tensors, count));
    return;
  }
  for (size_t k = 0; k < count; ++k) call.rets[k] = Value::of(take_value(plan, values, k));
}

void Frame::restart(std::span<TensorImpl* const> inputs) {
  for (size_t k = plan.num_inputs; k < plan.values.size(); ++k) release(static_cast<uint16_t>(k));
  std::copy_n(inputs.data(), plan.num_inputs, values_);
  offers_.clear();
  copies_.clear();
}

namespace {

[[noreturn]] [[gnu::cold]] void raise_outside(const Frame& frame, const TensorImpl& tensor, int dim, int64_t low,
                                              int64_t high) {
  const int64_t size = tensor.sizes[dim];
  raise(frame.plan.index_error, "%s(): index %lld is out of bounds for dimension %d with size %lld",
        frame.call.op->schema.name.c_str(), static_cast<long long>(low < 0 ? low : high), dim,
        static_cast<long long>(size));
}

// The general case, an operand with offsets or coefficients: sums up strides and checks that every index is in bounds.
void place_general(const Frame& frame, const Operand& operand, const TensorImpl& tensor, Placement& out, int k) {
  const int64_t item = static_cast<int64_t>(item_size(tensor.dtype));
  bool is_empty = false;
  for (int axis = 0; axis < out.axes; ++axis) is_empty |= out.extents[axis] == 0;
  for (size_t d = 0; d < operand.dims.size(); ++d) {
    const DimMap& dim = operand.dims[d];
    const int64_t stride = tensor.strides[d] * item;
    int64_t low = dim.offset == kNoRegister ? 0 : frame.size(dim.offset);
    if (out.data[k]) out.data[k] += low * stride;  // no element of an empty tensor is touched, padded or not
    int64_t high = low;
    for (DimTerm term : dim.terms) {
      const int64_t coefficient = term.coefficient == kNoRegister ? 1 : frame.size(term.coefficient);
      out.strides[k][term.axis] += coefficient * stride;
      const int64_t reach = coefficient * (out.extents[term.axis] - 1);
      (reach < 0 ? low : high) += reach;
    }
    if (!is_empty && !operand.padded && (low < 0 || high >= tensor.sizes[d]))
      raise_outside(frame, tensor, static_cast<int>(d), low, high);
  }
}

}  // namespace

namespace {

// The address of a value for a kernel: on the frame's device, which is the CPU while a device's step falls back to it.
char* place_of(const Frame& frame, TensorImpl& tensor) {
  if (frame.meta) return nullptr;
  return runs_on_device(frame) ? reinterpret_cast<char*>(tensor.address()) : tensor.host();
}

}  // namespace

void place_operand(const Frame& frame, const Operand& operand, Placement& out, int k) {
  TensorImpl& tensor = *frame.value(operand.value);
  out.dtypes[k] = tensor.dtype;
  out.data[k] = place_of(frame, tensor);
  for (int axis = 0; axis < out.axes; ++axis) out.strides[k][axis] = 0;
  if (!operand.direct) return place_general(frame, operand, tensor, out, k);
  const int64_t item = static_cast<int64_t>(item_size(tensor.dtype));
  for (size_t d = 0; d < operand.axis_of_dim.size(); ++d) {
    const int axis = operand.axis_of_dim[d];
    if (axis < 0) continue;
    if (tensor.sizes[d] < out.extents[axis]) [[unlikely]]
      raise_outside(frame, tensor, static_cast<int>(d), 0, out.extents[axis] - 1);
    out.strides[k][axis] = tensor.strides[d] * item;
  }
}

void place(const Frame& frame, const Step& step, Placement& out) {
  out.axes = static_cast<int>(step.extents.size());
  for (int axis = 0; axis < out.axes; ++axis) out.extents[axis] = frame.size(step.extents[axis]);
  out.operands = 0;
  for (const Operand& operand : step.outputs) place_operand(frame, operand, out, out.operands++);
  for (const Operand& operand : step.inputs) place_operand(frame, operand, out, out.operands++);
}

void load_params(const Frame& frame, const KernelUse& use, uint64_t* out) {
  for (uint16_t number : use.params) *out++ = static_cast<uint64_t>(frame.registers[number].integer);
}

void check_status(const Plan& plan, const OpCall& call, const Step& step, int64_t status) {
  if (status == 0) [[likely]]
    return;
  const char* op = call.op->schema.name.c_str();
  switch (status_code(status)) {
    case KernelStatus::IndexOutOfBounds: raise_index_error(plan, call, status_detail(status));
    case KernelStatus::ZeroDivision: raise(ErrorKind::Runtime, "ZeroDivisionError: %s divided an integer by zero", op);
    case KernelStatus::OutsideOperand: raise_outside_operand(op, status);
    case KernelStatus::Requirement:
      if (const auto number = static_cast<size_t>(status_detail(status)); number < step.kernel->messages.size()) {
        const Message& message = step.kernel->messages[number];
        throw Error(message.error, message.parts.at(0).text);
      }
      [[fallthrough]];
    default:
      raise(ErrorKind::Runtime, "%s(): the kernel %s failed with status %llx", op, step.kernel->label.c_str(),
            static_cast<unsigned long long>(status));
  }
}

}  // namespace pellucid
