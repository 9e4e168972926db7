// The error for an index that a kernel found out of bounds: which one, and of which dimension.
#pragma once

#include "core/op_record.h"
#include "plan/plan.h"

namespace pellucid {

// `element` is the kernel's loop position, for plans that do not tell what their inputs index.
[[noreturn]] void raise_index_error(const Plan& plan, const OpCall& call, int64_t element);

}  // namespace pellucid
