// Autocast regions, in which ops' floating-point operands are cast before they run.
//
// Inside a region the thread's include set contains Key::Autocast. Autocast ops are those whose declarations name
// a rule; their kernels are registered when the first region is entered. The key is above function transforms and
// decompositions: the operands may be batched or dual, and a rule may name a composite.
#pragma once

#include "core/op_record.h"

namespace pellucid {

// Of this thread. While `caches_casts`, casts of parameters are cached until `forget_casts`. `depth`: of its regions.
struct AutocastSettings {
  DType lower = DType::BFloat16;
  bool caches_casts = true;
  int32_t depth = 0;
  bool operator==(const AutocastSettings&) const = default;
};
extern thread_local constinit AutocastSettings autocast_settings;

bool is_autocast_enabled();
void set_autocast_enabled(bool enabled);
bool holds_casts();
void forget_casts();

}  // namespace pellucid
