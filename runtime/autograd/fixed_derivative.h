// The derivative of an op implemented in C++: one plan, whatever the call's key.
//
// Made with the op's record (ops/intrinsics.cpp), before the first call; records own their plan.
#pragma once

#include "autograd/derivative.h"

namespace pellucid {

void give_derivative(OpRecord& op, DerivativePlan plan);
const DerivativePlan& fixed_derivative(const OpRecord& op);  // the op must have a fixed derivative

}  // namespace pellucid
