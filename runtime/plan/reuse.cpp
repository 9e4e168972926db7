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

// Whether no step behind this one reads the plan's input, and no result is that input.
bool is_last_reader(const Plan& plan, const Step& step, uint16_t input) {
  if (std::ranges::count(plan.outputs, input)) return false;
  return std::all_of(&step + 1, plan.steps.data() + plan.steps.size(),
                     [&](const Step& later) { return std::ranges::count(later.inputs, input, &Operand::value) == 0; });
}

// The result `output` in the memory of the operand, or null.
Tensor result_of(const Frame& frame, const Step& step, const Operand& output, const Operand& input,
                 Donation* donation) {
  if (!is_read_in_step(step, input.value, output)) return {};
  TensorImpl& operand = *frame.value(input.value);
  const PlanValue& made = frame.plan.values[output.value];
  int64_t sizes[kMaxDims], strides[kMaxDims];
  const size_t rank = made.sizes.size();
  for (size_t d = 0; d < rank; ++d) sizes[d] = frame.size(made.sizes[d]);
  if (const int64_t* chosen = frame.layout_of(output.value)) std::copy_n(chosen, rank, strides);
  else row_major_strides({sizes, rank}, strides);
  if (input.value < frame.plan.num_inputs)
    return donation && is_last_reader(frame.plan, step, input.value)
               ? accept(*donation, operand, {sizes, rank}, {strides, rank}, made.dtype)
               : Tensor();
  const bool is_alone = operand.refs.load() == 1 && operand.storage->refs.load() == 1;
  const bool fits = is_alone && std::ranges::count(step.releases, input.value) != 0 &&
                    holds_result(operand, {sizes, rank}, {strides, rank}, made.dtype);
  return fits ? result_in(operand) : Tensor();
}

}  // namespace

void reuse_operands(Frame& frame, const Step& step) {
  if (step.num_stored != step.extents.size()) return;
  Donation* const donation = donation_to(frame.call);
  for (const Operand& output : step.outputs) {
    if (frame.value(output.value) || frame.is_offered(output.value) || !has_every_element(step, output)) continue;
    for (const Operand& input : step.inputs)
      if (Tensor result = result_of(frame, step, output, input, donation)) {
        frame.set(output.value, result.leak());
        break;
      }
  }
}

}  // namespace pellucid
