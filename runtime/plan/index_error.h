// The error for an index that a kernel found out of bounds: which one, and of which dimension.
#pragma once

#include "core/error.h"
#include "core/op_record.h"

namespace pellucid {

// `element` is the kernel's loop position, for ops whose schema does not tell which dimension the indices are of.
[[noreturn]] void raise_index_error(const OpCall& call, ErrorKind kind, int64_t element);

}  // namespace pellucid
