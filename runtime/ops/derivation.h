// Which op a derivative op is derived from, for code that displays or decomposes it.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "autograd/derivative.h"

namespace pellucid {

// The facts are those of the first plan made; all calls of the op fit it.
struct Derivation {
  Rule rule;
  const OpRecord* op;                      // null: the origin was itself a derivative and no longer exists
  std::weak_ptr<const OpRecord> op_owner;  // of a derivative
  bool is_owned;
  std::vector<ArgumentSource> arguments;  // as in DerivativePlan, like the members below
  std::vector<int16_t> results;
  std::vector<StructuralArgument> structural;
  std::shared_ptr<char[]> structural_memory;
};

// nullopt: the op is declared, not derived.
std::optional<Derivation> derived_from(const OpRecord& op);  // derivatives.cpp
void forget_derivation(const OpRecord& op);

}  // namespace pellucid
