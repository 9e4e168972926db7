// The table of ops derived from an op, for autograd and the function transforms: implements `find_rule` of
// autograd/derivative.h.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "autograd/derivative.h"
#include "core/bounded_cache.h"
#include "ops/graph_op.h"
#include "plan/key_cache.h"
#include "plan/register_program.h"

namespace pellucid {

// One plan of a key; a null plan means "not differentiable". Variants of one key differ by the guards that their
// Graphs recorded.
struct DerivativeVariant {
  RegisterProgram guards;
  SharedPlan plan;
};

// Per op and rule: plans by (key, mask of inputs). Plans of the frozen file live as long as the op and are found
// without a lock. Only a limited number of traced plans is cached, and nodes own those that they need.
struct Derivatives {
  struct Frozen {
    std::vector<std::span<const uint8_t>> encoded;  // guarded by `filling` until decoded
    std::atomic<const std::vector<DerivativeVariant>*> variants{nullptr};
    ~Frozen() { delete variants.load(); }
  };
  using TracedVariants = std::vector<std::shared_ptr<const DerivativeVariant>>;
  struct Traced : BoundedCache<KeyBuilder, std::atomic<std::shared_ptr<const TracedVariants>>> {
    Traced() : BoundedCache(most_traced) {}
  };

  std::atomic<bool> frozen_read = false;
  KeyCache<Frozen> frozen[kNumRules];
  Traced traced[kNumRules];
};

}  // namespace pellucid
