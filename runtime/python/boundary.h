// Boundaries of deferred calls: pellucid/_compile/capture records calls of a compiled callable and runs them later, as
// one graph. The thread's callback runs them before state that they depend on, and that no mode sees, is read or
// changed (a generator, hooks of saved tensors, levels of transforms, casts), and before code whose ops must not be
// recorded.
#pragma once

#include "python/object.h"

namespace pellucid::python {

extern int num_boundaries;  // callbacks of all threads; guarded by the interpreter lock

void call_boundary(const char* what);  // boundary.cpp

// Call before `what`, a name that the user knows. Raises what the callback raises.
inline void pass_boundary(const char* what) {
  if (num_boundaries) [[unlikely]]
    call_boundary(what);
}

void add_boundary(PyObject* module);

}  // namespace pellucid::python
