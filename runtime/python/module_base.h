// The C base class of nn.Module.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_module_base(PyObject* module);

}  // namespace pellucid::python
