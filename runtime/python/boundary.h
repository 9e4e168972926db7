// Boundaries of calls that are held back: pellucid/_compile/capture records calls of a compiled callable and runs them
// later, as one graph. Before something changes or reads a state that they depend on and that no mode sees (a
// generator, hooks of saved tensors, levels of transforms, casts), and before code whose ops must not be recorded, the
// thread's callback runs them.
#pragma once

#include "python/object.h"

namespace pellucid::python {

extern int num_boundaries;  // callbacks of all threads; guarded by the interpreter lock

void call_boundary(const char* what);  // boundary.cpp

// `what` comes next, in the words of the program. Raises what the callback raises.
inline void pass_boundary(const char* what) {
  if (num_boundaries) [[unlikely]]
    call_boundary(what);
}

void add_boundary(PyObject* module);

}  // namespace pellucid::python
