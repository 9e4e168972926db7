// Where autograd and the function transforms find what is derived from an op: `find_rule` of
// autograd/derivative.h.
#pragma once

#include <atomic>
#include <mutex>
#include <span>

#include "autograd/derivative.h"
#include "plan/key_cache.h"
#include "plan/register_program.h"

namespace pellucid {

// Per op and rule: derivative plans by (key, mask of inputs). Plans live forever; a null plan says "not
// differentiable". Variants of one key differ by the questions that their Graph asked.
struct DerivativeVariant {
  RegisterProgram guards;
  const DerivativePlan* plan = nullptr;
  const DerivativeVariant* next = nullptr;
};

struct Derivatives {
  struct Found {
    std::atomic<const DerivativeVariant*> first{nullptr};
    std::vector<std::span<const uint8_t>> frozen;  // not yet decoded; guarded by `mutex`
  };
  std::mutex mutex;
  bool frozen_read = false;
  KeyCache<Found> by_key[kNumRules];
};

}  // namespace pellucid
