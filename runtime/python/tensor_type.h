// Functions by which the binding files extend TensorBase while the module is initialised.
#pragma once

#include "python/tensor_object.h"

namespace pellucid::python {

// Adds methods or attributes to TensorBase. The arrays must be static and end with an empty entry.
void add_tensor_methods(PyMethodDef* methods);
void add_tensor_attributes(PyGetSetDef* attributes);
// The same for *queries*: what depends on the tensor's geometry, dtype, place and flags alone, not on elements,
// addresses or history. Analyses of programs ask which these are (_C._tensor_queries).
void add_tensor_queries(PyMethodDef* methods);
void add_tensor_queries(PyGetSetDef* attributes);

// An alias of `tensor`, with its history, as a new object of `type`.
PyObject* alias_as(PyTypeObject* type, TensorImpl& tensor);
// The same, or the object itself with a new type if the caller has the only reference.
PyObject* convert_to_type(PyTypeObject* type, Object object);

// Slots filled by their files.
void fill_operator_slots(PyTypeObject& type);     // operators.cpp
void fill_number_slots(PyNumberMethods& number);  // tensor_numbers.cpp: bool, int, float, index
void fill_subscript_slots(PyTypeObject& type);    // indexing.cpp

// Contributions by file.
void add_tensor_properties();  // tensor_properties.cpp
void add_geometry_methods();   // tensor_geometry.cpp
void add_number_methods();     // tensor_numbers.cpp

}  // namespace pellucid::python
