// Helpers that return the results of intrinsics. Included only by files of this folder.
#pragma once

#include <algorithm>

#include "core/call_op.h"
#include "core/dispatcher.h"
#include "core/error.h"

namespace pellucid::intrinsics {

inline void give(OpCall& call, Tensor result) { call.rets[0] = Value::of(result.leak()); }
inline void give_itself(OpCall& call, TensorImpl& tensor) { give(call, Tensor::share(&tensor)); }

}  // namespace pellucid::intrinsics
