// Recomputation: results that a recipe computes again instead of storing them, to lower its peak memory.
//
// A forward pass stores activations for the backward pass. Many are cheap functions of others that are stored anyway:
// `gelu(x)` of the product x, a norm of the residual stream. Such a result is released after its last early reader, and
// its op runs again before its first late reader, with the same bits: ops are deterministic, and their operands are
// unchanged. Called for a replay before its first run.
#pragma once

#include <cstdint>

#include "record/capture.h"

namespace pellucid::record {

// What a recipe may do to need less memory.
struct MemoryBudget {
  double bytes = 1.0;         // the fraction of the peak to reach, by whatever recomputation it takes; 1: no such goal
  double cheap_bytes = 0.78;  // the same by recomputation that takes at most
  double time = 0.04;         // this fraction of the call's time
};

struct Recomputed {
  uint32_t results = 0;                 // that are computed twice
  int64_t bytes_before = 0, bytes = 0;  // the peak of what the call makes, without and with recomputation
};

// Changes the recipe, which is complete.
Recomputed recompute(Recipe& recipe, const MemoryBudget& budget);

}  // namespace pellucid::record
