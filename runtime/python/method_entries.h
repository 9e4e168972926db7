// C entry points for Tensor methods. A method descriptor's C function has no closure, so each method takes one of a
// pool of functions that differ only in the overload set they call.
#pragma once

#include "python/op_callable.h"

namespace pellucid::python {

// Raises when the pool is used up; enlarge kMethodEntries then.
PyCFunction take_method_entry(OverloadSet& set);

// Looks up the sets behind the operators; called once the op table is bound.
void bind_operators();

}  // namespace pellucid::python
