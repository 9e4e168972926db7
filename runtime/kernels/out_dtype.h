// What an op requires of the dtype of its out=.
#pragma once

#include "core/dtype.h"
#include "core/op_record.h"

namespace pellucid {

// Raises if the call would write a result to an out= of another dtype and its op does not cast (OpRecord::casts_out).
void require_dtype_of_out(const OpCall& call, DType result, DType out);

}  // namespace pellucid
