// Functions written in Python whose calls __torch_function__ sees.
#pragma once

#include <span>

#include "python/object.h"

namespace pellucid::python {

// Whether a call with these arguments belongs to a mode or to an argument's __torch_function__.
bool call_is_overridden(std::span<PyObject* const> arguments);  // function_protocol.cpp

void add_overridable(PyObject* module);

}  // namespace pellucid::python
