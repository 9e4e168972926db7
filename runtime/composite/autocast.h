// Autocast regions: ops whose floating-point operands are cast before they run.
//
// The thread's include set holds Key::Autocast inside of a region. Autocast ops are those whose
// declarations name a rule; they get their kernel when the first region is entered. The key is above
// function transforms and decompositions: what is cast may be batched or dual, and a rule names a composite.
#pragma once

#include "core/op_record.h"

namespace pellucid {

// Of this thread. Casts of parameters are cached, while `caches_casts`, until `forget_casts`.
struct AutocastSettings {
  DType lower = DType::BFloat16;
  bool caches_casts = true;
};
extern thread_local constinit AutocastSettings autocast_settings;

bool is_autocast_enabled();
void set_autocast_enabled(bool enabled);
void forget_casts();

}  // namespace pellucid
