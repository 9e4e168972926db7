// UntypedStorage: a tensor's memory as a Python object.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_storage(PyObject* module);

}  // namespace pellucid::python
