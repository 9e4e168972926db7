// What a derivative op is the derivative of: for who shows or decomposes it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "autograd/derivative.h"

namespace pellucid {

// The plan's facts are those of the one that was made first; all calls of the op fit it.
struct Derivation {
  Rule rule;
  const OpRecord* op;                      // null: a derivative itself, which is gone
  std::weak_ptr<const OpRecord> op_owner;  // of a derivative
  bool is_owned;
  std::vector<ArgumentSource> arguments;  // as in DerivativePlan, like the following
  std::vector<int16_t> results;
  std::vector<StructuralArgument> structural;
  std::shared_ptr<char[]> structural_memory;
};

// None: the op is declared, not derived.
std::optional<Derivation> derived_from(const OpRecord& op);  // derivatives.cpp
void forget_derivation(const OpRecord& op);

}  // namespace pellucid
