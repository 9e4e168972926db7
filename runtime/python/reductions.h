// The names of reductions and the numbers that ops take for them.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_reductions(PyObject* module);

}  // namespace pellucid::python
