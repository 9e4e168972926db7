// as_strided and its derivatives: the only ops whose meaning is a tensor's memory, not its elements.
//
// A view's history after a write in place is `as_strided` of its base. Its gradient is written into zeros
// of the base's geometry (`as_strided_backward`), whose own gradient reads the same elements again
// (`as_strided_gather`); the two are each other's derivative, so every order exists. Geometry is
// carried as integers, since a saved base would be refused after the next write.
#pragma once

#include "core/op_record.h"
#include "core/tensor.h"

namespace pellucid {

namespace intrinsics {

// Kernels. The first three take the sizes, strides and offset of the view, then those of the base.
void as_strided_geometry(OpCall& call, void*);  // base -> view of it
void as_strided_backward(OpCall& call, void*);  // of the view's shape -> base's geometry, zeros outside the view
void as_strided_gather(OpCall& call, void*);    // of the base's shape -> the view's elements
void as_strided(OpCall& call, void*);           // as users call it

}  // namespace intrinsics

// The as_strided call equivalent to `view`, a view of `view.base`. It points into itself.
struct StridedCall {
  explicit StridedCall(TensorImpl& view);
  StridedCall(const StridedCall&) = delete;
  OpCall call;
  Value args[7], rets[1];
};
}  // namespace pellucid
