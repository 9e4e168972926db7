// What a call says of an index that a kernel found out of bounds: which one, of which dimension.
#pragma once

#include "core/error.h"
#include "core/op_record.h"

namespace pellucid {

// `element` is the place in the kernel's loop, for ops whose schema does not tell what the indices are of.
[[noreturn]] void raise_index_error(const OpCall& call, ErrorKind kind, int64_t element);

}  // namespace pellucid
