#include "python/named_dtypes.h"

#include "core/error.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

constexpr size_t kPrefix = sizeof("torch.") - 1;

// ConstantObject::value is the place in kNamedDTypes, below zero, so that it is not a DType.
ConstantObject constants[std::size(kNamedDTypes)];
PyTypeObject named_dtype_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

const NamedDType& named(PyObject* self) { return kNamedDTypes[-1 - reinterpret_cast<ConstantObject*>(self)->value]; }

PyObject* is_floating_point(PyObject* self, void*) {
  return PyBool_FromLong(named(self).category == DTypeCategory::Floating);
}
PyObject* is_complex(PyObject* self, void*) { return PyBool_FromLong(named(self).category == DTypeCategory::Complex); }
PyObject* is_signed(PyObject* self, void*) { return PyBool_FromLong(named(self).is_signed); }
PyObject* itemsize(PyObject* self, void*) { return PyLong_FromLong(named(self).item_size); }

PyGetSetDef getset[] = {
    {"is_floating_point", is_floating_point, nullptr, nullptr, nullptr},
    {"is_complex", is_complex, nullptr, nullptr, nullptr},
    {"is_signed", is_signed, nullptr, nullptr, nullptr},
    {"itemsize", itemsize, nullptr, nullptr, nullptr},
    {},
};

}  // namespace

void add_named_dtypes(PyObject* module) {
  named_dtype_type.tp_name = "pellucid._C._NamedDType";
  named_dtype_type.tp_doc = "A dtype that no tensor has.";
  named_dtype_type.tp_basicsize = sizeof(ConstantObject);
  named_dtype_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  named_dtype_type.tp_base = &dtype_type;
  named_dtype_type.tp_getset = getset;
  checked(PyType_Ready(&named_dtype_type));
  for (size_t i = 0; i < std::size(kNamedDTypes); ++i) {
    auto* object = reinterpret_cast<PyObject*>(&constants[i]);
    PyObject_Init(object, &named_dtype_type);
    constants[i].value = -1 - static_cast<int>(i);
    constants[i].name = kNamedDTypes[i].torch_name;
    checked(PyModule_AddObjectRef(module, kNamedDTypes[i].torch_name + kPrefix, object));
  }
}

void refuse_named_dtype(PyObject* object) {
  if (Py_TYPE(object) != &named_dtype_type) return;
  const NamedDType& dtype = named(object);
  const char* instead = dtype.category == DTypeCategory::Complex    ? "torch.complex64"
                        : dtype.category == DTypeCategory::Floating ? "torch.bfloat16 or torch.float16"
                                                                    : "torch.int32 or torch.int64";
  raise(ErrorKind::NotImplemented, "tensors of %s are not offered: use %s", dtype.torch_name, instead);
}

DType offered_dtype(PyObject* object) {
  refuse_named_dtype(object);
  return dtype_of(object);
}

}  // namespace pellucid::python
