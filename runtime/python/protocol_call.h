// How the methods `__torch_function__` and `__torch_dispatch__` of modes and classes are called.
//
// Used by function_protocol.cpp and dispatch_protocol.cpp.
#pragma once

#include <span>

#include "python/object.h"

namespace pellucid::python {

// Calls `owner.name(...)`: the method of an object, or the class method of a class. `arguments` begin with the owner,
// so that no bound method is made.
Object call_protocol(PyObject* name, std::span<PyObject* const> arguments);

}  // namespace pellucid::python
