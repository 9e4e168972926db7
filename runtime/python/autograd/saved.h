// Saved tensors as Python objects that take hooks. See saved.cpp.
#pragma once

#include "python/autograd/autograd.h"

namespace pellucid::python {

// `_raw_saved_self` of an OpNode (argument, element of a list), one of `_raw_saved_tensors` of a Function (argument).
PyObject* raw_saved_object(Ref<Node> node, size_t argument, size_t element);

void add_saved_hooks(PyObject* module);

}  // namespace pellucid::python
