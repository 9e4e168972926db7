// __torch_function__ for Tensor's attributes, and for its methods that run no op.
//
// Plain tensors have no overhead: classes that may override have another tp_getattro, and Tensor gets it only while a
// function mode is active.
#pragma once

#include "python/tensor_object.h"

namespace pellucid::python {

// An attribute or method of TensorBase that subclasses can override. Never freed.
void offer_to_overrides(PyObject* descriptor);

// Makes attribute lookup on objects of a subclass of Tensor call __torch_function__.
void ask_objects_of(PyTypeObject* type);
// Turns the same on or off for plain tensors and parameters.
void ask_plain_tensors(bool ask);

// Offers an assignment (`value` null: a deletion) to overrides and modes. Returns its status, or 1 if none took it.
int offer_assignment(PyObject* self, PyObject* name, PyObject* value);

}  // namespace pellucid::python
