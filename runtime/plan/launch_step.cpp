#include "plan/launch_step.h"

#include <algorithm>

#include "core/backend.h"
#include "kernels/copy.h"
#include "kernels/device_launch.h"
#include "plan/steps.h"

namespace pellucid {
namespace {

// The kinds whose kernel and operands say all. Sums over groups of rows, and products of padded operands, are arranged
// by the CPU's drivers.
bool is_launchable(const Step& step) {
  switch (step.kind) {
    case StepKind::Map:
    case StepKind::Reduce:
    case StepKind::Scan:
    case StepKind::Nest: return true;
    case StepKind::Rows: return step.sums.empty();
    case StepKind::Gemm: return std::ranges::none_of(step.inputs, &Operand::padded);
    default: return false;
  }
}

bool are_on_device(const Frame& frame, const Step& step) {
  return std::ranges::all_of(step.inputs, [&](const Operand& operand) {
    const TensorImpl* value = frame.value(operand.value);
    return value && value->device == frame.device;
  });
}

int stored_axes(const Step& step) {
  const int axes = static_cast<int>(step.extents.size());
  if (step.kind == StepKind::Scan) return axes - 1;
  if (step.kind == StepKind::Gemm) return axes - step.groups[3];
  return step.kind == StepKind::Nest ? axes : step.num_stored;
}

struct Operands {
  LaunchOperand list[kMaxNestOperands];
  size_t count = 0;
  int64_t dims[kMaxNestOperands][kMaxDims];  // of nests: strides in bytes

  std::span<const LaunchOperand> all() const { return {list, count}; }

  void add_placed(const Placement& nest) {
    const auto axes = static_cast<size_t>(nest.axes);
    for (int k = 0; k < nest.operands; ++k)
      list[count++] = {
          reinterpret_cast<uint64_t>(nest.data[k]), nest.dtypes[k], {nest.extents, axes}, {nest.strides[k], axes}};
  }

  void add_whole(TensorImpl& value) {
    int64_t* const strides = dims[count];
    for (int d = 0; d < value.ndim; ++d) strides[d] = value.strides[d] * static_cast<int64_t>(item_size(value.dtype));
    list[count++] = {value.address(), value.dtype, value.shape(), {strides, value.ndim}};
  }
};

}  // namespace

bool launch_step(Frame& frame, const Step& step) {
  Backend& backend = backend_of(frame.device);
  if (!backend.launches_kernels() || !is_launchable(step) || !are_on_device(frame, step)) return false;
  make_outputs(frame, step);
  Placement nest;
  place(frame, step, nest);
  const std::span<const int64_t> extents(nest.extents, static_cast<size_t>(nest.axes));
  if (std::ranges::count(extents, 0)) return false;
  Operands operands;
  if (step.kind == StepKind::Nest) {
    for (const auto* list : {&step.outputs, &step.inputs})
      for (const Operand& operand : *list) operands.add_whole(*frame.value(operand.value));
  } else {
    operands.add_placed(nest);
  }
  if (step.kind == StepKind::Nest && step.has_identity)
    for (const Operand& output : step.outputs) fill_elements(*frame.value(output.value), value_of(step.constant));
  uint64_t params[kMaxStepParams];
  load_params(frame, *step.kernel, params);
  const Launch launch{frame.call.op->qualified_name.c_str(),
                      step.kernel->kernel,
                      frame.device,
                      extents,
                      stored_axes(step),
                      operands.all(),
                      static_cast<int>(step.outputs.size()),
                      {params, step.kernel->params.size()}};
  if (!backend.launch(launch)) return false;
  backend.launches.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace pellucid
