// Replays of compiled callables, as Python sees them: _C._Capture and _C.Replay, for _compile/replays.py.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_replays(PyObject* module);

// The call's result from the first of `replays` (a tuple) that fits it. Null without an error: Python must run the
// call.
PyObject* replay_call(PyObject* replays, PyObject* const* args, Py_ssize_t count, PyObject* keywords);

}  // namespace pellucid::python
