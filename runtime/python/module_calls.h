// Calls of modules while the timeline records them.
#pragma once

#include "python/object.h"

namespace pellucid::python {

// The number of the module in this session, which holds it until the last session ends.
int64_t module_number(PyObject* module);
Object listed_modules();  // by number
void forget_modules();

}  // namespace pellucid::python
