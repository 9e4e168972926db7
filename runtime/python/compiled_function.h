// The callable that torch.compile returns for a function. It calls the function, usually through its Compilation.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_compiled_function(PyObject* module);

}  // namespace pellucid::python
