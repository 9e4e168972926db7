// Modes that see calls as the program makes them: a composite is one call, before it is decomposed and recorded.
//
// While such a mode is active, the thread includes the PreDispatch key, whose fallback calls the innermost mode. Ops
// that the mode calls go to the outer modes, then to the keys below. Read first: dispatch_protocol.h, whose modes see
// ops below autograd.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_pre_dispatch(PyObject* module);

}  // namespace pellucid::python
