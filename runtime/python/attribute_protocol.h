// __torch_function__ for what runs no op: attributes of Tensor and its methods that answer questions.
//
// Plain tensors have no overhead: classes that may override have another tp_getattro, and the plain ones get
// it while a function mode is in force.
#pragma once

#include "python/tensor_object.h"

namespace pellucid::python {

// An attribute or method of TensorBase that subclasses can override. Never freed.
void offer_to_overrides(PyObject* descriptor);

// Makes objects of a subclass of Tensor ask.
void ask_objects_of(PyTypeObject* type);
// Makes plain tensors and parameters ask, or no longer.
void ask_plain_tensors(bool ask);

// An assignment (`value` null: a deletion) that an override or a mode took: its status; 1: none did.
int offer_assignment(PyObject* self, PyObject* name, PyObject* value);

}  // namespace pellucid::python
