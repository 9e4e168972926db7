// dtype, layout, memory_format and qscheme: named constants that print, hash and pickle by name.
#include "python/types.h"

#include <string>

#include "core/defaults.h"

namespace pellucid::python {
namespace {

ConstantObject dtypes[kNumDTypes];

constexpr const char* kLayoutNames[] = {
    "torch.strided",    "torch.sparse_coo", "torch.sparse_csr", "torch._mkldnn",
    "torch.sparse_csc", "torch.sparse_bsr", "torch.sparse_bsc", "torch.jagged",
};
constexpr const char* kMemoryFormatNames[] = {
    "torch.contiguous_format",
    "torch.preserve_format",
    "torch.channels_last",
    "torch.channels_last_3d",
};
constexpr const char* kSchemeNames[] = {
    "torch.per_tensor_affine",
    "torch.per_channel_affine",
    "torch.per_tensor_symmetric",
    "torch.per_channel_symmetric",
    "torch.per_channel_affine_float_qparams",
};
ConstantObject schemes[std::size(kSchemeNames)];
ConstantObject layouts[std::size(kLayoutNames)];
ConstantObject memory_formats[std::size(kMemoryFormatNames)];

constexpr size_t kPrefix = sizeof("torch.") - 1;

PyObject* constant_repr(PyObject* self) { return PyUnicode_FromString(reinterpret_cast<ConstantObject*>(self)->name); }

// Pickles as the package's global of that name.
PyObject* constant_reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(reinterpret_cast<ConstantObject*>(self)->name + kPrefix);
}

PyObject* constant_copy(PyObject* self, PyObject*) { return new_reference(self); }

PyMethodDef constant_methods[] = {
    {"__reduce__", constant_reduce, METH_NOARGS, nullptr},
    {"__copy__", constant_copy, METH_NOARGS, nullptr},
    {"__deepcopy__", constant_copy, METH_O, nullptr},
    {},
};

PyObject* is_floating_point(PyObject* self, void*) {
  return PyBool_FromLong(category(dtype_of(self)) == DTypeCategory::Floating);
}
PyObject* is_complex(PyObject* self, void*) {
  return PyBool_FromLong(category(dtype_of(self)) == DTypeCategory::Complex);
}
PyObject* is_signed(PyObject* self, void*) {
  if (category(dtype_of(self)) != DTypeCategory::Opaque) return PyBool_FromLong(facts_of(dtype_of(self)).is_signed);
  PyErr_Format(PyExc_RuntimeError, "%R has no sign: its elements have no value of their own", self);
  return nullptr;
}
PyObject* itemsize(PyObject* self, void*) { return PyLong_FromSize_t(item_size(dtype_of(self))); }

PyGetSetDef dtype_getset[] = {
    {"is_floating_point", is_floating_point, nullptr, nullptr, nullptr},
    {"is_complex", is_complex, nullptr, nullptr, nullptr},
    {"is_signed", is_signed, nullptr, nullptr, nullptr},
    {"itemsize", itemsize, nullptr, nullptr, nullptr},
    {},
};

PyObject* to_real(PyObject* self, PyObject*) { return new_reference(dtype_object(facts_of(dtype_of(self)).real)); }

PyObject* to_complex(PyObject* self, PyObject*) {
  const DTypeFacts& facts = facts_of(dtype_of(self));
  if (facts.has_pair) return new_reference(dtype_object(facts.pair));
  PyErr_Format(PyExc_RuntimeError, "%R has no complex counterpart: only floats of 16 to 64 bits do", self);
  return nullptr;
}

PyMethodDef dtype_methods[] = {
    {"__reduce__", constant_reduce, METH_NOARGS, nullptr},
    {"__copy__", constant_copy, METH_NOARGS, nullptr},
    {"__deepcopy__", constant_copy, METH_O, nullptr},
    {"to_real", to_real, METH_NOARGS, "The real dtype of the same precision."},
    {"to_complex", to_complex, METH_NOARGS, "The complex dtype of the same precision."},
    {},
};

void prepare(PyTypeObject& type, const char* name, const char* doc, PyMethodDef* methods) {
  type.tp_name = name;
  type.tp_doc = doc;
  type.tp_basicsize = sizeof(ConstantObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_repr = constant_repr;
  type.tp_methods = methods;
  checked(PyType_Ready(&type));
}

void add_constant(PyObject* module, ConstantObject& constant, PyTypeObject& type, int value, const char* name) {
  PyObject_Init(reinterpret_cast<PyObject*>(&constant), &type);
  constant.value = value;
  constant.name = name;
  checked(PyModule_AddObjectRef(module, name + kPrefix, reinterpret_cast<PyObject*>(&constant)));
}

}  // namespace

PyTypeObject dtype_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject layout_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject memory_format_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
static PyTypeObject scheme_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* dtype_object(DType dtype) { return reinterpret_cast<PyObject*>(&dtypes[static_cast<int>(dtype)]); }
PyObject* layout_object(Layout layout) { return reinterpret_cast<PyObject*>(&layouts[static_cast<int>(layout)]); }
PyObject* memory_format_object(MemoryFormat format) {
  return reinterpret_cast<PyObject*>(&memory_formats[static_cast<int>(format)]);
}

bool to_dtype(PyObject* object, DType& out) {
  if (is_dtype(object)) return out = dtype_of(object), true;
  if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return out = DType::Float64, true;
  if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return out = DType::Int64, true;
  if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return out = DType::Bool, true;
  if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) return out = DType::Complex128, true;
  return false;
}

// {dtype: its part of the names of tensor and storage types}, in the order of codes.
PyObject* dtype_words() {
  Object words = own(PyDict_New());
  for (int i = 0; i < kNumDTypes; ++i) {
    const Object word = own(PyUnicode_FromString(kDTypeFacts[i].word));
    checked(PyDict_SetItem(words.get(), dtype_object(static_cast<DType>(i)), word.get()));
  }
  return words.leak();
}

void add_device_and_size(PyObject* module);  // device.cpp

void add_types(PyObject* module) {
  dtype_type.tp_getset = dtype_getset;
  prepare(dtype_type, "pellucid.dtype", "The type of a tensor's elements.", dtype_methods);
  prepare(layout_type, "pellucid.layout", "The memory layout of a tensor.", constant_methods);
  prepare(memory_format_type, "pellucid.memory_format", "The order of a tensor's dimensions in memory.",
          constant_methods);
  prepare(scheme_type, "pellucid.qscheme", "How integers represent numbers.", constant_methods);
  for (size_t i = 0; i < std::size(kSchemeNames); ++i)
    add_constant(module, schemes[i], scheme_type, static_cast<int>(i), kSchemeNames[i]);
  checked(PyModule_AddObjectRef(module, "qscheme", reinterpret_cast<PyObject*>(&scheme_type)));
  for (int i = 0; i < kNumDTypes; ++i) add_constant(module, dtypes[i], dtype_type, i, kDTypeFacts[i].torch_name);
  for (size_t i = 0; i < std::size(kLayoutNames); ++i)
    add_constant(module, layouts[i], layout_type, static_cast<int>(i), kLayoutNames[i]);
  for (size_t i = 0; i < std::size(kMemoryFormatNames); ++i)
    add_constant(module, memory_formats[i], memory_format_type, static_cast<int>(i), kMemoryFormatNames[i]);
  checked(PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(&dtype_type)));
  checked(PyModule_AddObjectRef(module, "_dtype_words", own(dtype_words()).get()));
  checked(PyModule_AddObjectRef(module, "layout", reinterpret_cast<PyObject*>(&layout_type)));
  checked(PyModule_AddObjectRef(module, "memory_format", reinterpret_cast<PyObject*>(&memory_format_type)));
  add_device_and_size(module);
}

}  // namespace pellucid::python
