// as_strided and its derivatives: the only ops that depend on a tensor's memory rather than its elements.
//
// After an in-place write, a view's history is `as_strided` of its base. Its gradient is written into zeros with
// the base's geometry (`as_strided_backward`), whose own gradient reads the same elements again
// (`as_strided_gather`). The two are each other's derivative, so every order exists. The geometry is carried as
// integers, because a saved base would be refused after the next write.
#pragma once

#include "core/op_record.h"
#include "core/tensor.h"

namespace pellucid {

namespace intrinsics {

// Kernels. The first three take the sizes, strides and offset of the view, then those of the base.
void as_strided_geometry(OpCall& call, void*);  // base -> view of it
void as_strided_backward(OpCall& call, void*);  // of the view's shape -> base's geometry, zeros outside the view
void as_strided_gather(OpCall& call, void*);    // of the base's shape -> the view's elements
void as_strided(OpCall& call, void*);           // the public op

}  // namespace intrinsics

// The as_strided call on `base` equivalent to `view`. Its arguments point into itself.
struct StridedCall {
  StridedCall(TensorImpl& base, TensorImpl& view);
  StridedCall(const StridedCall&) = delete;
  OpCall call;
  Value args[7], rets[1];
};
}  // namespace pellucid
