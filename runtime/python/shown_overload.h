// Which overload of an op dispatch modes see a call as.
#pragma once

#include "core/op_record.h"

namespace pellucid::python {

// The overload that modes see: the one for numbers (`gt.Scalar` rather than `gt.Tensor`) if the call has a number and
// the declaration says so.
const OpRecord& shown_overload(const OpCall& call);

}  // namespace pellucid::python
