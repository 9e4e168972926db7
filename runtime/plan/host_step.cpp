#include "plan/host_step.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "kernels/fallback.h"
#include "kernels/host_shadow.h"
#include "plan/launch_step.h"

namespace pellucid {
namespace {

void add_numbers(const std::vector<Operand>& operands, std::vector<uint16_t>& numbers) {
  for (const Operand& operand : operands)
    if (!std::ranges::count(numbers, operand.value)) numbers.push_back(operand.value);
}

// The values that a step reads and writes on the CPU: copies of those on the device.
class HostStep {
 public:
  HostStep(Frame& frame, const Step& step) : frame_(frame), device_(frame.device) {
    add_numbers(step.outputs, written_);
    numbers_ = written_;
    add_numbers(step.inputs, numbers_);
    for (const uint16_t number : numbers_)
      if (TensorImpl* value = frame.value(number)) shadows_.add(*value, std::ranges::count(written_, number) != 0);
    shadows_.copy();
    for (const uint16_t number : numbers_)
      if (TensorImpl* value = frame.value(number); value && value->is_off_host()) replace(number, *value);
    frame.device = {};
  }

  // Restores the values; those that the step allocated remain, and `finish` copies them to the device.
  ~HostStep() {
    frame_.device = device_;
    for (const Replaced& value : replaced_)
      if (!value.is_done) restore(value);
  }
  HostStep(const HostStep&) = delete;
  HostStep& operator=(const HostStep&) = delete;

  void finish() {
    shadows_.write_back();
    frame_.device = device_;
    for (Replaced& value : replaced_)
      if (frame_.value(value.number) == value.shadow.get()) {
        restore(value);
        value.is_done = true;
      }
    for (const uint16_t number : written_) give_to_device(number);
  }

 private:
  struct Replaced {
    uint16_t number;
    TensorImpl* original;  // the frame's value, with its reference
    Tensor shadow;
    bool is_done = false;
  };

  bool is_owned(uint16_t number) const { return number >= frame_.plan.num_inputs; }

  void replace(uint16_t number, TensorImpl& value) {
    Replaced& replaced = replaced_.emplace_back(Replaced{number, &value, shadows_.shadow(value)});
    if (is_owned(number)) replaced.shadow->retain();
    frame_.values()[number] = replaced.shadow.get();
  }

  void restore(const Replaced& value) {
    TensorImpl* present = std::exchange(frame_.values()[value.number], value.original);
    if (present && is_owned(value.number)) Tensor::adopt(present);
  }

  void give_to_device(uint16_t number) {
    TensorImpl* made = frame_.value(number);
    if (!made || made->is_off_host()) return;
    Tensor result = copy_to_device(*made, device_);
    for (Replaced& value : replaced_)
      if (value.number == number && !value.is_done) {  // allocated again to replace this one
        restore(value);
        value.is_done = true;
      }
    frame_.set(number, result.leak());
  }

  Frame& frame_;
  const Device device_;
  std::vector<uint16_t> written_, numbers_;
  HostShadows shadows_;
  std::vector<Replaced> replaced_;
};

const char* kernel_of(const Step& step) { return step.kernel ? step.kernel->label.c_str() : step.name.c_str(); }

// Runs the steps of a block one after the other on whole values, for devices that do not take the block as a kernel.
void run_members(Frame& frame, const BlockBody& body) {
  for (const Step& member : body.steps) run_device_step(frame, member);
  for (const LocalValue local : body.locals) frame.release(local.value);
}

}  // namespace

void run_device_step(Frame& frame, const Step& step) {
  switch (step.kind) {
    case StepKind::View:
    case StepKind::Reshape:
    case StepKind::Copy:
    case StepKind::Fill: return run_step_here(frame, step);
    default: break;
  }
  Backend& backend = backend_of(frame.device);
  if (step.kind == StepKind::Block && backend.launches_kernels()) {
    const BlockBody& body = *step.block;
    if (!body.whole || !launch_step(frame, *body.whole)) run_members(frame, body);
    return;
  }
  if (launch_step(frame, step)) return;
  note_fallback(backend, frame.call.op->qualified_name, kernel_of(step));
  HostStep host(frame, step);
  run_step_here(frame, step);
  host.finish();
}

}  // namespace pellucid
