#include "python/protocol_call.h"

#include <cstring>

namespace pellucid::python {
namespace {

// The offset of a classmethod object's function, which CPython exposes only through the member `__func__`.
Py_ssize_t find_function_offset() {
  for (const PyMemberDef* member = PyClassMethod_Type.tp_members; member && member->name; ++member)
    if (std::strcmp(member->name, "__func__") == 0) return member->offset;
  return 0;
}

// The function of the class method `found`, which takes the class before its arguments; null if `found` is not one.
PyObject* function_of_class_method(PyObject* found) {
  static const Py_ssize_t offset = find_function_offset();
  if (!offset || Py_TYPE(found) != &PyClassMethod_Type) return nullptr;
  PyObject* function = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(found) + offset);
  return function && PyFunction_Check(function) ? function : nullptr;
}

}  // namespace

Object call_protocol(PyObject* name, std::span<PyObject* const> arguments) {
  PyObject* owner = arguments[0];
  PyObject* found = PyType_Check(owner) ? _PyType_Lookup(reinterpret_cast<PyTypeObject*>(owner), name) : nullptr;
  if (PyObject* function = found ? function_of_class_method(found) : nullptr) {
    const Object held = Object::borrow(function);  // the call may remove it from the class
    return own(PyObject_Vectorcall(function, arguments.data(), arguments.size(), nullptr));
  }
  return own(PyObject_VectorcallMethod(name, arguments.data(), arguments.size(), nullptr));
}

}  // namespace pellucid::python
