// Grad-mode contexts, global settings and dispatch tracing.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_grad_modes(PyObject* module);    // grad_mode.cpp
void add_settings(PyObject* module);      // settings.cpp

}  // namespace pellucid::python
