// Autocast regions: ops whose floating-point operands are cast before they run.
//
// The thread's include set holds Key::Autocast inside of a region. Which ops take part, and by which
// rule, `amp/autocast_mode.py` says when the first region is entered; all others pass it by.
#pragma once

#include <cstdint>

#include "core/op_record.h"

namespace pellucid {

enum class CastRule : uint8_t {
  Lower,    // to the region's dtype: products, which are faster there
  Float32,  // to float32: what loses its meaning in half precision
  Widest,   // to the widest among the operands
};

// `cast` is the op that converts a tensor: (self, dtype).
void register_autocast(OpRecord& op, CastRule rule, const OpRecord& cast);

// Of this thread. Casts of parameters are kept, while `keeps_casts`, until `forget_casts`.
struct AutocastSettings {
  DType lower = DType::BFloat16;
  bool keeps_casts = true;
};
extern thread_local constinit AutocastSettings autocast_settings;

bool is_autocast_enabled();
void set_autocast_enabled(bool enabled);
void forget_casts();

}  // namespace pellucid
