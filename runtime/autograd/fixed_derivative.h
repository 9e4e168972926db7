// The derivative of an op that C++ carries out: one plan, whatever the call's key.
//
// Made where the op's record is (ops/intrinsics.cpp), before the first call; records own their plan.
#pragma once

#include "autograd/derivative.h"

namespace pellucid {

void give_derivative(OpRecord& op, DerivativePlan plan);
const DerivativePlan& fixed_derivative(const OpRecord& op);  // of an op that was given one

}  // namespace pellucid
