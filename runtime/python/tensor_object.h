// TensorObject: the Python object around a TensorImpl, and how the two keep each other alive.
//
// While anybody in Python holds the object, it owns one count of the tensor and the tensor borrows
// it (`TensorImpl::python`), so a tensor has one object at a time. An object that carries state of
// its own (a subclass, attributes, weak references) must outlive its last user while the tensor
// lives: then the roles swap (kPythonState) until it is used again.
// Objects are tracked by the garbage collector only once they can be part of a cycle.
//
// The attributes that programs set are in a dict that the interpreter manages, as it does for every
// class written in Python: only for such objects, and those without a dict, does it specialise calls
// of methods.
#pragma once

#include "core/tensor.h"
#include "python/object.h"

namespace pellucid::python {

struct TensorObject {
  PyObject_HEAD TensorImpl* tensor;
  PyObject* weak_references;
  PyObject* shape;      // the cached Size, or null
  bool has_attributes;  // its dict was read or written
};

extern PyTypeObject tensor_base_type;  // pellucid._C.TensorBase
extern PyTypeObject tensor_meta_type;  // its metaclass: gives every subclass our deallocator
extern PyTypeObject* tensor_type;      // pellucid.Tensor; _set_tensor_class
extern PyTypeObject* parameter_type;   // pellucid.nn.Parameter, or null; _set_parameter_class

inline bool is_exact_tensor(PyObject* object) { return Py_TYPE(object) == tensor_type; }
// Tensor or Parameter: nothing overrides what an op does with it.
inline bool is_plain_tensor(PyObject* object) {
  return Py_TYPE(object) == tensor_type || Py_TYPE(object) == parameter_type;
}
inline bool is_tensor(PyObject* object) {
  return is_plain_tensor(object) || Py_TYPE(object)->tp_base == tensor_type ||
         PyType_IsSubtype(Py_TYPE(object), &tensor_base_type);
}
inline TensorImpl* tensor_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object)->tensor; }

PyObject* wrap_new(TensorImpl* tensor);       // takes the count; the tensor has no object yet
PyObject* wrap_existing(TensorImpl* tensor);  // takes the count; the tensor has one

// The Python object of `tensor`, as a new reference.
inline PyObject* wrap(Tensor tensor) {
  TensorImpl* taken = tensor.leak();
  return taken->python ? wrap_existing(taken) : wrap_new(taken);
}
inline PyObject* wrap_or_none(Tensor tensor) { return tensor ? wrap(std::move(tensor)) : none(); }

// An object of `type`, a subclass of Tensor, around a tensor that has no object yet.
PyObject* wrap_as(PyTypeObject* type, Tensor tensor);

// Gives a class that has a dict, pellucid.Tensor, our `__dict__`: asking for it makes the object part
// of possible cycles.
void watch_dict(PyTypeObject& type);
// Fills the slots that concern life and tracking; tensor_type.cpp fills the rest.
void prepare_tensor_life(PyTypeObject& type);
void add_tensor_type(PyObject* module);

}  // namespace pellucid::python
