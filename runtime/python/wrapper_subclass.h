// Wrapper subclasses: tensors of a class with __torch_dispatch__ that have a geometry and no memory.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_wrapper_subclass(PyObject* module);

}  // namespace pellucid::python
