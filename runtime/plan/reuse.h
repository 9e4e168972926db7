// Results of steps in the memory of operands that die with the step: values that it reads last, and inputs that the
// caller donates (core/donation.h).
#pragma once

#include "plan/executor.h"

namespace pellucid {

// Makes results of a map in the memory of such operands. A map reads an element before it writes the same element, so
// the result is unchanged. What is not made here needs memory of its own (make_outputs).
void reuse_operands(Frame& frame, const Step& step);

// Whether a step may make the result `number` in the memory of a donated operand, for all that the plan says.
bool may_take_operand(const Frame& frame, uint16_t number);

}  // namespace pellucid
