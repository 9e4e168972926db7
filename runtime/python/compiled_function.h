// What torch.compile gives for a function: it calls the function, through the Compilation unless that one rests.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_compiled_function(PyObject* module);

}  // namespace pellucid::python
