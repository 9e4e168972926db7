// Plain values as bytes, for messages between processes: pickling a small one takes longer than what it asks for.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_plain_values(PyObject* module);

}  // namespace pellucid::python
