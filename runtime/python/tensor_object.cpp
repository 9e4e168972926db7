// Life of tensor objects: allocation from a free list, deallocation, resurrection, tracking.
#include "python/tensor_object.h"

#include <cstring>

#include "core/hooks.h"
#include "python/attribute_protocol.h"
#include "python/dispatch_protocol.h"
#include "python/function_protocol.h"

namespace pellucid::python {

PyTypeObject* tensor_type = &tensor_base_type;  // until pellucid.Tensor is made
PyTypeObject* parameter_type = nullptr;

namespace {

constexpr int kFreeListLimit = 1024;
TensorObject* free_list = nullptr;  // linked through `tensor`
int free_list_length = 0;

TensorObject* as_tensor_object(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }

void track(PyObject* self) {
  if (!PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
}

void detach_tensor(TensorObject* self) {
  TensorImpl* tensor = std::exchange(self->tensor, nullptr);
  if (!tensor) return;
  tensor->python = nullptr;
  Tensor::adopt(tensor);
}

// The tensor takes over the object's last reference if the tensor has other owners.
bool resurrect(TensorObject* self) {
  TensorImpl* tensor = self->tensor;
  if (!tensor || tensor->unique()) return false;
  const bool has_state = self->has_attributes || self->weak_references || Py_TYPE(self) != tensor_type;
  if (!has_state) return false;
  Py_SET_REFCNT(reinterpret_cast<PyObject*>(self), 1);
  tensor->flags |= TensorImpl::kPythonState;
  Tensor::adopt(tensor);
  return true;
}

// Runs when a tensor that owns its object dies, on any thread.
void release_object(TensorImpl& tensor) {
  if (!Py_IsInitialized()) return;
  HoldGil gil;
  auto* object = static_cast<TensorObject*>(tensor.python);
  tensor.python = nullptr;
  tensor.flags &= static_cast<uint16_t>(~TensorImpl::kPythonState);
  object->tensor = nullptr;
  Py_DECREF(reinterpret_cast<PyObject*>(object));
}

void free_memory(PyObject* self, PyTypeObject* type) {
  Py_CLEAR(as_tensor_object(self)->shape);
  // Objects that had a dict are not reused: their state after clearing depends on the interpreter's version.
  const bool is_as_new = type == tensor_type && !as_tensor_object(self)->has_attributes;
  if (is_as_new && free_list_length < kFreeListLimit) {
    as_tensor_object(self)->tensor = reinterpret_cast<TensorImpl*>(free_list);
    free_list = as_tensor_object(self);
    ++free_list_length;
  } else {
    type->tp_free(self);
  }
  if (type->tp_flags & Py_TPFLAGS_HEAPTYPE) Py_DECREF(type);
}

[[gnu::noinline]] void deallocate_with_state(PyObject* self) {
  TensorObject* object = as_tensor_object(self);
  PyTypeObject* type = Py_TYPE(self);
  if (resurrect(object)) return;
  if (type->tp_finalize || type->tp_del) {
    track(self);
    if (type->tp_finalize && PyObject_CallFinalizerFromDealloc(self) < 0) return;
    if (type->tp_del) {
      Py_SET_REFCNT(self, 1);
      type->tp_del(self);
      if (Py_REFCNT(self) > 1) return static_cast<void>(Py_SET_REFCNT(self, Py_REFCNT(self) - 1));
      Py_SET_REFCNT(self, 0);
    }
  }
  if (PyObject_GC_IsTracked(self)) PyObject_GC_UnTrack(self);
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  type->tp_clear(self);  // the dict, and what classes add with __slots__
  detach_tensor(object);
  free_memory(self, type);
}

void deallocate(PyObject* self) {
  TensorObject* object = as_tensor_object(self);
  if (Py_TYPE(self) != tensor_type || object->has_attributes || object->weak_references) [[unlikely]] {
    return deallocate_with_state(self);
  }
  if (PyObject_GC_IsTracked(self)) [[unlikely]]
    PyObject_GC_UnTrack(self);
  detach_tensor(object);
  free_memory(self, tensor_type);
}

// The interpreter visits and clears what classes written in Python add: the dict, slots.
int traverse(PyObject*, visitproc, void*) { return 0; }
int clear(PyObject*) { return 0; }

void note_attributes(PyObject* self) {
  as_tensor_object(self)->has_attributes = true;
  track(self);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  if (!is_plain_tensor(self) || num_function_modes) [[unlikely]] {
    const int taken = offer_assignment(self, name, value);
    if (taken <= 0) return taken;
  }
  PyObject* found = _PyType_Lookup(Py_TYPE(self), name);
  if (!found || !Py_TYPE(found)->tp_descr_set) note_attributes(self);
  return PyObject_GenericSetAttr(self, name, value);
}

PyObject* get_dict(PyObject* self, void*) {
  note_attributes(self);
  return PyObject_GenericGetDict(self, nullptr);
}

int set_dict(PyObject* self, PyObject* value, void*) {
  note_attributes(self);
  return PyObject_GenericSetDict(self, value, nullptr);
}

PyGetSetDef dict_attribute = {"__dict__", get_dict, set_dict, nullptr, nullptr};

int initialise_subclass(PyObject* type, PyObject* args, PyObject* kwargs) {
  if (PyType_Type.tp_init(type, args, kwargs) < 0) return -1;
  reinterpret_cast<PyTypeObject*>(type)->tp_dealloc = deallocate;
  ask_objects_of(reinterpret_cast<PyTypeObject*>(type));
  return 0;
}

}  // namespace

PyObject* wrap_new(TensorImpl* tensor) {
  TensorObject* object = free_list;
  if (object) [[likely]] {
    free_list = reinterpret_cast<TensorObject*>(object->tensor);
    --free_list_length;
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(object), 1);
    Py_INCREF(tensor_type);
  } else {
    object = PyObject_GC_New(TensorObject, tensor_type);
    if (!object) {
      Tensor::adopt(tensor);
      raise_python();
    }
    object->weak_references = object->shape = nullptr;
    object->has_attributes = false;
  }
  object->tensor = tensor;
  tensor->python = object;
  return reinterpret_cast<PyObject*>(object);
}

PyObject* wrap_existing(TensorImpl* tensor) {
  auto* object = static_cast<PyObject*>(tensor->python);
  if (tensor->flags & TensorImpl::kPythonState) {  // the object's own reference becomes the caller's
    tensor->flags &= static_cast<uint16_t>(~TensorImpl::kPythonState);
    return object;
  }
  Py_INCREF(object);
  Tensor::adopt(tensor);
  return object;
}

// tp_alloc would allocate an array for the attributes' values.
static PyObject* new_object(PyTypeObject* type) {
  PyObject* object = PyObject_GC_New(PyObject, type);
  if (!object) return nullptr;
  std::memset(object + 1, 0, static_cast<size_t>(type->tp_basicsize) - sizeof(PyObject));
  PyObject_GC_Track(object);
  return object;
}

PyObject* wrap_as(PyTypeObject* type, Tensor tensor) {
  if (type == tensor_type) return wrap_new(tensor.leak());
  Object object = own(new_object(type));
  TensorImpl* taken = tensor.leak();
  as_tensor_object(object.get())->tensor = taken;
  taken->python = object.get();
  mark_dispatched(type, *taken);
  return object.leak();
}

void watch_dict(PyTypeObject& type) {
  Object descriptor = own(PyDescr_NewGetSet(&type, &dict_attribute));
  checked(PyDict_SetItemString(type.tp_dict, dict_attribute.name, descriptor.get()));
  PyType_Modified(&type);
}

void prepare_tensor_life(PyTypeObject& type) {
  type.tp_basicsize = sizeof(TensorObject);
  type.tp_dealloc = deallocate;
  type.tp_traverse = traverse;
  type.tp_clear = clear;
  type.tp_setattro = set_attribute;
  type.tp_weaklistoffset = offsetof(TensorObject, weak_references);
  type.tp_free = PyObject_GC_Del;
  core_hooks.release_python_object = release_object;
  tensor_meta_type.tp_base = &PyType_Type;
  tensor_meta_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  tensor_meta_type.tp_init = initialise_subclass;
}

}  // namespace pellucid::python
