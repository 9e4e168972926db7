// Modes that see calls as the program makes them: a composite is one call, before it is taken apart and recorded.
//
// While such a mode is in force the thread includes the PreDispatch key, whose fallback asks the innermost one. What
// that runs goes to the modes around it, then on to the keys below. Read first: dispatch_protocol.h, whose modes see
// what is left below autograd.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_pre_dispatch(PyObject* module);

}  // namespace pellucid::python
