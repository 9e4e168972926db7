// Where autograd finds how an op is differentiated: `find_derivative` of autograd/derivative.h.
#pragma once

#include <atomic>
#include <mutex>
#include <span>

#include "autograd/derivative.h"
#include "exec/key_cache.h"

namespace pellucid {

// Per op: derivative plans by (key, needs-grad mask). A null plan says "not differentiable".
struct Derivatives {
  struct Found {
    std::atomic<bool> known{false};
    std::span<const uint8_t> frozen;        // not yet decoded
    const DerivativePlan* plan = nullptr;   // lives forever
  };
  std::mutex mutex;
  bool frozen_read = false;
  KeyCache<Found> by_key;
};

}  // namespace pellucid
