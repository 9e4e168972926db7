// What an op requires of the dtype of a tensor that it writes.
#pragma once

#include "core/dtype.h"
#include "core/op_record.h"

namespace pellucid {

// Raises the error of a result that would have to be converted.
[[noreturn]] void raise_unconverted(const OpCall& call, DType result, DType written);

// Raises if the call may not write a result to a tensor of another dtype (OpRecord::casts_out, out_dtypes).
// `raise_uncastable` raises the caller's error for dtypes without a cast.
template <class RaiseUncastable>
void require_dtype_of_written(const OpCall& call, DType result, DType written, RaiseUncastable raise_uncastable) {
  const uint64_t only = call.op->out_dtypes;
  if (!only && !can_cast(result, written)) raise_uncastable();
  const bool is_allowed = only ? (only >> static_cast<int>(written) & 1) != 0 : call.op->casts_out;
  if (result != written && !is_allowed) raise_unconverted(call, result, written);
}

}  // namespace pellucid
