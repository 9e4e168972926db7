// `Connection`: the messages of RPC, as Python sends and receives them.
#pragma once

#include "distributed/without_lock.h"

namespace pellucid::distributed {

// False: an exception is set.
bool add_connection(PyObject* module);

}  // namespace pellucid::distributed
