// as_strided and its derivatives: the only ops whose meaning is a tensor's memory, not its elements.
//
// A view's history after a write in place is `as_strided` of its base. Its gradient is written into zeros
// of the base's geometry (`as_strided_backward`), whose own gradient reads the same elements again
// (`as_strided_gather`); the two are each other's derivative, so every order exists. Geometry is
// carried as integers, since a saved base would be refused after the next write.
#pragma once

#include "autograd/derivative.h"
#include "core/op_record.h"
#include "core/tensor.h"

namespace pellucid {

// Defines the records; once, at start-up.
void define_strided_ops();

// The as_strided call equivalent to `view`, a view of `view.base`. It points into itself.
struct StridedCall {
  explicit StridedCall(TensorImpl& view);
  StridedCall(const StridedCall&) = delete;
  OpCall call;
  Value args[7], rets[1];
};
const DerivativePlan& strided_derivative();  // of such a call

}  // namespace pellucid
