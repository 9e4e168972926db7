// `Calls`: the calls of one group, of which one runs at a time, for Python.
#pragma once

#include "distributed/without_lock.h"

namespace pellucid::distributed {

// False: an exception is set.
bool add_calls(PyObject* module);

}  // namespace pellucid::distributed
