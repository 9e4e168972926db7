// `Group` and `Message`: groups in shared memory, and their sends and receives, for Python.
#pragma once

#include "distributed/without_lock.h"

namespace pellucid::distributed {

// False: an exception is set.
bool add_group(PyObject* module);

}  // namespace pellucid::distributed
