// Adds _C._start, which the package calls before it binds the ops.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_start(PyObject* module);

}  // namespace pellucid::python
