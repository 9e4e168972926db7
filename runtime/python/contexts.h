// Module functions without a type of their own: grad modes, settings, the start of the runtime.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_grad_modes(PyObject* module);    // grad_mode.cpp
void add_settings(PyObject* module);      // settings.cpp
void add_start(PyObject* module);         // start_runtime.cpp

}  // namespace pellucid::python
