// TensorObject: the Python object around a TensorImpl, and how the two keep each other alive.
//
// While Python holds the object, the object owns one reference to the tensor and the tensor has a borrowed pointer to
// the object (`TensorImpl::python`), so a tensor has at most one object. An object with state of its own (a subclass,
// attributes, weak references) must live as long as the tensor: when its last Python reference is dropped, the tensor
// owns the object (kPythonState) until Python uses it again. The garbage collector tracks objects only once they can be
// part of a cycle.
//
// Attributes that programs set are in a dict that the interpreter manages, as for every class written in Python: only
// for objects with such a dict, or without any, does the interpreter specialise method calls.
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
extern PyTypeObject tensor_meta_type;  // its metaclass: sets our deallocator in every subclass
extern PyTypeObject* tensor_type;      // pellucid.Tensor; _set_tensor_class
extern PyTypeObject* parameter_type;   // pellucid.nn.Parameter, or null; _set_parameter_class

inline bool is_exact_tensor(PyObject* object) { return Py_TYPE(object) == tensor_type; }
// Whether it is a Tensor or Parameter, not of a subclass that may override ops.
inline bool is_plain_tensor(PyObject* object) {
  return Py_TYPE(object) == tensor_type || Py_TYPE(object) == parameter_type;
}
inline bool is_tensor(PyObject* object) {
  return is_plain_tensor(object) || Py_TYPE(object)->tp_base == tensor_type ||
         PyType_IsSubtype(Py_TYPE(object), &tensor_base_type);
}
inline TensorImpl* tensor_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object)->tensor; }

PyObject* wrap_new(TensorImpl* tensor);       // takes over the reference; the tensor has no object yet
PyObject* wrap_existing(TensorImpl* tensor);  // takes over the reference; the tensor has an object

// The Python object of `tensor`, as a new reference.
inline PyObject* wrap(Tensor tensor) {
  TensorImpl* taken = tensor.leak();
  return taken->python ? wrap_existing(taken) : wrap_new(taken);
}
inline PyObject* wrap_or_none(Tensor tensor) { return tensor ? wrap(std::move(tensor)) : none(); }

// An object of `type`, a subclass of Tensor, around a tensor that has no object yet.
PyObject* wrap_as(PyTypeObject* type, Tensor tensor);

// Sets our `__dict__` in a class whose objects have a dict (pellucid.Tensor): reading it lets the garbage collector
// track the object.
void watch_dict(PyTypeObject& type);
// Fills the slots for allocation, deallocation and garbage collection; tensor_type.cpp fills the rest.
void prepare_tensor_life(PyTypeObject& type);
void add_tensor_type(PyObject* module);

}  // namespace pellucid::python
