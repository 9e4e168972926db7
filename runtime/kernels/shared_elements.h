// In-place writes of tensors whose elements share memory, for ops that allow them (OpRecord::writes_shared).
#pragma once

#include "core/op_record.h"
#include "core/tensor.h"

namespace pellucid {

// Whether the call writes `destination` in place although its elements share memory, which the op allows. The result
// is then computed elsewhere and written by `write_changed`.
bool writes_shared_elements(const OpCall& call, const TensorImpl& destination);
// Writes the elements of `result`, of the destination's shape and dtype, that differ from those of `destination`: of
// elements that share memory, one that the op changed, in whatever order they are visited. Raises on devices.
void write_changed(TensorImpl& destination, TensorImpl& result);

}  // namespace pellucid
