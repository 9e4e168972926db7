// Pending operations: a tensor with Key::Conjugate or Key::Negative has the conjugates or negatives of the elements in
// its memory.
//
// `conj` only turns the key on or off, so that its result is a view. Ops that make views pass the keys on
// (make_view); before any other op runs, the keys' handler computes the elements of its operands, and writes what
// the op wrote back through the view. Only kernels of views, and of ops that call other ops, see such a tensor;
// `TensorImpl::host` raises, so that none reads its memory.
#pragma once

#include "core/op_record.h"
#include "core/tensor.h"

namespace pellucid {

constexpr KeySet kPendingKeys = KeySet(Key::Conjugate) | Key::Negative;

inline KeySet pending_of(const TensorImpl& tensor) { return tensor.keys & kPendingKeys; }
void set_pending(TensorImpl& tensor, KeySet pending);
// A view of the same memory with the operation `key` pending if it is not, and the reverse. `detached` as in make_view.
Tensor toggled(TensorImpl& tensor, Key key, bool detached);
// The tensor itself, or its elements in new memory, without history.
Tensor resolved(TensorImpl& tensor);

// For ops that make views, or call other ops: their kernels get tensors with pending operations as they are.
void fall_through_pending(OpRecord& op);
// Installs the handlers of both keys; called once the ops of the table are defined.
void register_pending();

}  // namespace pellucid
