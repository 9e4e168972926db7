#include "plan/reuse.h"

#include <algorithm>

#include "core/donation.h"
#include "core/geometry.h"

namespace pellucid {
namespace {

// Whether the operand's dims follow all axes of the step, one each.
bool has_every_element(const Step& step, const Operand& operand) {
  if (!operand.direct || operand.padded || operand.axis_of_dim.size() != step.extents.size()) return false;
  uint64_t axes = 0;
  for (const int8_t axis : operand.axis_of_dim)
    if (axis >= 0) axes |= uint64_t{1} << axis;
  return axes == (uint64_t{1} << step.extents.size()) - 1;
}

// Whether every read of the value by the step is of the element that it writes.
bool is_read_in_step(const Step& step, uint16_t value, const Operand& output) {
  return std::ranges::all_of(step.inputs, [&](const Operand& input) {
    return input.value != value || (input.direct && !input.padded && input.axis_of_dim == output.axis_of_dim);
  });
}

// The result `output` in the memory of the operand, or null.
Tensor result_of(const Frame& frame, const Step& step, const Operand& output, const Operand& input) {
  if (!is_read_in_step(step, input.value, output)) return {};
  TensorImpl& operand = *frame.value(input.value);
  const PlanValue& made = frame.plan.values[output.value];
  int64_t sizes[kMaxDims], strides[kMaxDims];
  const size_t rank = made.sizes.size();
  for (size_t d = 0; d < rank; ++d) sizes[d] = frame.size(made.sizes[d]);
  if (const int64_t* chosen = frame.layout_of(output.value)) std::copy_n(chosen, rank, strides);
  else row_major_strides({sizes, rank}, strides);
  if (input.value < frame.plan.num_inputs)
    return frame.donation && std::ranges::count(step.last_reads, input.value) != 0
               ? accept(*frame.donation, operand, {sizes, rank}, {strides, rank}, made.dtype)
               : Tensor();
  const bool is_alone = operand.refs.load() == 1 && operand.storage->refs.load() == 1;
  const bool fits = is_alone && std::ranges::count(step.releases, input.value) != 0 &&
                    holds_result(operand, {sizes, rank}, {strides, rank}, made.dtype);
  return fits ? result_in(operand) : Tensor();
}

// Whether the step computes all of the value in one pass over its own axes.
bool is_map_of_all(const Step& step, const Operand& output) {
  return step.kind == StepKind::Map && step.num_stored == step.extents.size() && has_every_element(step, output);
}

}  // namespace

bool may_take_operand(const Frame& frame, uint16_t number) {
  if (!frame.donation || frame.donation->accepted) return false;
  return std::ranges::any_of(frame.plan.steps, [&](const Step& step) {
    const auto output = std::ranges::find(step.outputs, number, &Operand::value);
    if (output == step.outputs.end() || !is_map_of_all(step, *output)) return false;
    return std::ranges::any_of(step.last_reads, [&](uint16_t input) {
      const TensorImpl* const operand = frame.value(input);
      return is_read_in_step(step, input, *output) && operand->dtype == frame.plan.values[number].dtype &&
             std::ranges::count(frame.donation->tensors, operand) != 0;
    });
  });
}

void reuse_operands(Frame& frame, const Step& step) {
  for (const Operand& output : step.outputs) {
    if (frame.value(output.value) || frame.is_offered(output.value) || !is_map_of_all(step, output)) continue;
    for (const Operand& input : step.inputs)
      if (Tensor result = result_of(frame, step, output, input)) {
        frame.set(output.value, result.leak());
        break;
      }
  }
}

}  // namespace pellucid
