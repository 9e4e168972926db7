// The types device and Size.
#include <cstring>
#include <string>

#include "core/device_names.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

struct DeviceObject {
  PyObject_HEAD Device device;
};

Device device_of(PyObject* object) { return reinterpret_cast<DeviceObject*>(object)->device; }

// Without a user backend, an index alone means a CUDA device.
bool has_user_backend() { return device_type_name(DeviceType::PrivateUse) != "privateuseone"; }

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"type", "index", nullptr};
    PyObject* kind = nullptr;
    PyObject* index = nullptr;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &kind, &index))
      return nullptr;
    Device device;
    if (PyLong_Check(kind) && !has_user_backend())
      raise(ErrorKind::Runtime,
            "Cannot access accelerator device when none is available.\nThe index of a device alone means an "
            "accelerator: write 'cpu'.");
    if (!to_device(kind, device))
      raise(ErrorKind::Type, "device(): argument 'type' must be str, int or device, not %s", Py_TYPE(kind)->tp_name);
    if (index && index != Py_None) {
      if (device.index >= 0)
        raise(ErrorKind::Runtime, "device(): type '%s' already names an index: leave out `index`",
              device_name(device).c_str());
      const long number = PyLong_AsLong(index);
      if (number == -1 && PyErr_Occurred()) raise_python();
      if (number < 0 || number > 127) raise(ErrorKind::Runtime, "device(): index must be in 0..127, not %ld", number);
      device.index = static_cast<int8_t>(number);
    }
    return device_object(device);
  });
}

PyObject* device_str(PyObject* self) { return PyUnicode_FromString(device_name(device_of(self)).c_str()); }

PyObject* device_repr(PyObject* self) {
  const Device device = device_of(self);
  const std::string kind = device_type_name(device.type);
  if (device.index < 0) return PyUnicode_FromFormat("device(type='%s')", kind.c_str());
  return PyUnicode_FromFormat("device(type='%s', index=%d)", kind.c_str(), device.index);
}

PyObject* device_compare(PyObject* self, PyObject* other, int operation) {
  if (Py_TYPE(other) != &device_type || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((device_of(self) == device_of(other)) == (operation == Py_EQ));
}

Py_hash_t device_hash(PyObject* self) {
  const Device device = device_of(self);
  return static_cast<Py_hash_t>(device.type) << 8 | static_cast<uint8_t>(device.index);
}

PyObject* device_reduce(PyObject* self, PyObject*) {
  const Device device = device_of(self);
  const std::string kind = device_type_name(device.type);
  if (device.index < 0) return Py_BuildValue("O(s)", &device_type, kind.c_str());
  return Py_BuildValue("O(si)", &device_type, kind.c_str(), device.index);
}

PyObject* get_type(PyObject* self, void*) {
  return PyUnicode_InternFromString(device_type_name(device_of(self).type).c_str());
}
PyObject* get_index(PyObject* self, void*) {
  const int index = device_of(self).index;
  return index < 0 ? none() : PyLong_FromLong(index);
}

// with device: factories without a device argument make tensors there; utils/_device.py does that.
PyObject* device_enter(PyObject* self, PyObject*) {
  const Object module = Object::steal(PyImport_ImportModule("pellucid.utils._device"));
  return module ? PyObject_CallMethod(module.get(), "enter", "O", self) : nullptr;
}
PyObject* device_exit(PyObject*, PyObject*) {
  const Object module = Object::steal(PyImport_ImportModule("pellucid.utils._device"));
  return module ? PyObject_CallMethod(module.get(), "leave", nullptr) : nullptr;
}

PyMethodDef device_methods[] = {
    {"__reduce__", device_reduce, METH_NOARGS, nullptr},
    {"__enter__", device_enter, METH_NOARGS, nullptr},
    {"__exit__", device_exit, METH_VARARGS, nullptr},
    {},
};
PyGetSetDef device_getset[] = {
    {"type", get_type, nullptr, "The kind of device: 'cpu', 'cuda', 'meta'.", nullptr},
    {"index", get_index, nullptr, "Which device of its kind, or None.", nullptr},
    {},
};

// Converts the result of a tuple operation on a Size to a Size.
PyObject* to_size(PyObject* tuple) {
  if (!tuple || !PyTuple_Check(tuple) || Py_TYPE(tuple) == &size_type) return tuple;
  Object source = Object::steal(tuple);
  const Py_ssize_t length = PyTuple_GET_SIZE(tuple);
  PyObject* size = size_type.tp_alloc(&size_type, length);
  if (!size) return nullptr;
  for (Py_ssize_t i = 0; i < length; ++i) PyTuple_SET_ITEM(size, i, new_reference(PyTuple_GET_ITEM(tuple, i)));
  return size;
}

PyObject* size_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  Object size = Object::steal(PyTuple_Type.tp_new(type, args, kwargs));
  if (!size) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(size.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(size.get(), i);
    if (PyLong_Check(item)) continue;
    PyObject* number = PyIndex_Check(item) ? PyNumber_Index(item) : nullptr;
    if (!number) {
      PyErr_Format(PyExc_TypeError, "Size() expects integers: item %zd is a %s", i, Py_TYPE(item)->tp_name);
      return nullptr;
    }
    PyTuple_SET_ITEM(size.get(), i, number);
    Py_DECREF(item);
  }
  return size.leak();
}

PyObject* size_repr(PyObject* self) {
  Object list = Object::steal(PySequence_List(self));
  return list ? PyUnicode_FromFormat("torch.Size(%R)", list.get()) : nullptr;
}

PyObject* size_numel(PyObject* self, PyObject*) {
  Object product = Object::steal(PyLong_FromLong(1));
  for (Py_ssize_t i = 0; product && i < PyTuple_GET_SIZE(self); ++i)
    product = Object::steal(PyNumber_Multiply(product.get(), PyTuple_GET_ITEM(self, i)));
  return product.leak();
}

PyObject* size_reduce(PyObject* self, PyObject*) {
  Object tuple = Object::steal(PyTuple_New(PyTuple_GET_SIZE(self)));
  if (!tuple) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self); ++i)
    PyTuple_SET_ITEM(tuple.get(), i, new_reference(PyTuple_GET_ITEM(self, i)));
  return Py_BuildValue("O(O)", &size_type, tuple.get());
}

PyObject* size_concat(PyObject* self, PyObject* other) {
  return to_size(PyTuple_Type.tp_as_sequence->sq_concat(self, other));
}
PyObject* size_add(PyObject* left, PyObject* right) {
  if (!PyTuple_Check(left) || !PyTuple_Check(right)) Py_RETURN_NOTIMPLEMENTED;
  return size_concat(left, right);
}
PyObject* size_repeat(PyObject* self, Py_ssize_t times) {
  return to_size(PyTuple_Type.tp_as_sequence->sq_repeat(self, times));
}
PyObject* size_subscript(PyObject* self, PyObject* key) {
  return to_size(PyTuple_Type.tp_as_mapping->mp_subscript(self, key));
}

PyMethodDef size_methods[] = {
    {"numel", size_numel, METH_NOARGS, "The number of elements of a tensor of this size."},
    {"__reduce__", size_reduce, METH_NOARGS, nullptr},
    {},
};
PyNumberMethods size_number = {};
PySequenceMethods size_sequence = {};
PyMappingMethods size_mapping = {};

}  // namespace

PyTypeObject device_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject size_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* device_object(Device device) {
  auto* object = checked(device_type.tp_alloc(&device_type, 0));
  reinterpret_cast<DeviceObject*>(object)->device = device;
  return object;
}

bool to_device(PyObject* object, Device& out) {
  if (Py_TYPE(object) == &device_type) return out = device_of(object), true;
  if (PyUnicode_Check(object)) {
    Py_ssize_t length = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &length);
    if (!text) raise_python();
    return out = parse_device({text, static_cast<size_t>(length)}), true;
  }
  if (PyLong_Check(object) && !PyBool_Check(object)) {  // an index of the accelerator, as in PyTorch
    const long index = PyLong_AsLong(object);
    if (index < 0 || index > 127) {
      PyErr_Clear();
      raise(ErrorKind::Runtime, "device index must be in 0..127");
    }
    const DeviceType type = has_user_backend() ? DeviceType::PrivateUse : DeviceType::CUDA;
    return out = Device{type, static_cast<int8_t>(index)}, true;
  }
  return false;
}

PyObject* size_object(std::span<const int64_t> sizes) {
  PyObject* tuple = checked(size_type.tp_alloc(&size_type, static_cast<Py_ssize_t>(sizes.size())));
  for (size_t i = 0; i < sizes.size(); ++i)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), checked(PyLong_FromLongLong(sizes[i])));
  return tuple;
}

void add_device_and_size(PyObject* module) {
  device_type.tp_name = "pellucid.device";
  device_type.tp_doc = "device(type, index=None): where a tensor's memory is.";
  device_type.tp_basicsize = sizeof(DeviceObject);
  device_type.tp_flags = Py_TPFLAGS_DEFAULT;
  device_type.tp_new = device_new;
  device_type.tp_repr = device_repr;
  device_type.tp_str = device_str;
  device_type.tp_hash = device_hash;
  device_type.tp_richcompare = device_compare;
  device_type.tp_methods = device_methods;
  device_type.tp_getset = device_getset;
  checked(PyType_Ready(&device_type));
  checked(PyModule_AddObjectRef(module, "device", reinterpret_cast<PyObject*>(&device_type)));

  size_number.nb_add = size_add;
  size_sequence = *PyTuple_Type.tp_as_sequence;
  size_sequence.sq_concat = size_concat;
  size_sequence.sq_repeat = size_repeat;
  size_mapping = *PyTuple_Type.tp_as_mapping;
  size_mapping.mp_subscript = size_subscript;
  size_type.tp_name = "pellucid.Size";
  size_type.tp_doc = "The sizes of a tensor: a tuple of integers.";
  size_type.tp_base = &PyTuple_Type;
  size_type.tp_flags = Py_TPFLAGS_DEFAULT;
  size_type.tp_new = size_new;
  size_type.tp_repr = size_repr;
  size_type.tp_methods = size_methods;
  size_type.tp_as_number = &size_number;
  size_type.tp_as_sequence = &size_sequence;
  size_type.tp_as_mapping = &size_mapping;
  checked(PyType_Ready(&size_type));
  checked(PyModule_AddObjectRef(module, "Size", reinterpret_cast<PyObject*>(&size_type)));
}

}  // namespace pellucid::python
