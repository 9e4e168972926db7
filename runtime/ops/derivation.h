// What a derivative op is the derivative of: for who shows or decomposes it.
#pragma once

#include "autograd/derivative.h"

namespace pellucid {

// The plan is the one that was traced first; all calls of the op fit it.
struct Derivation {
  Rule rule;
  const OpRecord* op;
  const DerivativePlan* plan;
};

// Null: the op is declared, not derived.
const Derivation* derived_from(const OpRecord& op);  // derivatives.cpp

}  // namespace pellucid
