#include "python/attribute_protocol.h"

#include <unordered_set>

#include "python/function_protocol.h"

namespace pellucid::python {
namespace {

std::unordered_set<PyObject*>& offered() {
  static auto* all = new std::unordered_set<PyObject*>;
  return *all;
}

bool is_private(PyObject* name) {
  return PyUnicode_GET_LENGTH(name) > 1 && PyUnicode_READ_CHAR(name, 0) == '_' && PyUnicode_READ_CHAR(name, 1) == '_';
}

bool is_overridden(PyObject* object) { return function_modes_active() || overrides(object); }

// A function or property that Tensor itself defines in Python.
bool is_of_tensor_class(PyObject* name, PyObject* found) {
  if (!PyFunction_Check(found) && !PyObject_TypeCheck(found, &PyProperty_Type)) return false;
  return !is_private(name) && PyDict_GetItem(tensor_type->tp_dict, name) == found &&
         PyUnicode_CompareWithASCIIString(name, "as_subclass") != 0;
}

// Borrowed; null unless the attribute can be overridden.
PyObject* find_offered(PyTypeObject* type, PyObject* name) {
  PyObject* found = _PyType_Lookup(type, name);
  return found && (offered().contains(found) || is_of_tensor_class(name, found)) ? found : nullptr;
}

// A callable that passes calls of `function` to modes and overrides.
struct AskingFunction {
  PyObject_HEAD vectorcallfunc call;
  PyObject* function;
};

PyTypeObject asking_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* call_asking(PyObject* self, PyObject* const* args, size_t flags, PyObject* keywords) {
  return guarded([&] {
    PyObject* function = reinterpret_cast<AskingFunction*>(self)->function;
    if (!keywords && PyFunction_Check(function)) keywords = no_keywords();
    return call_override(function, nullptr, args, PyVectorcall_NARGS(flags), keywords);
  });
}

PyObject* attribute_of_asking(PyObject* self, PyObject* name) {
  return PyObject_GetAttr(reinterpret_cast<AskingFunction*>(self)->function, name);
}

void deallocate_asking(PyObject* self) {
  Py_DECREF(reinterpret_cast<AskingFunction*>(self)->function);
  Py_TYPE(self)->tp_free(self);
}

void prepare_asking_type() {
  asking_type.tp_name = "pellucid._C._AskingFunction";
  asking_type.tp_basicsize = sizeof(AskingFunction);
  asking_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  asking_type.tp_vectorcall_offset = offsetof(AskingFunction, call);
  asking_type.tp_call = PyVectorcall_Call;
  asking_type.tp_getattro = attribute_of_asking;
  asking_type.tp_dealloc = deallocate_asking;
  checked(PyType_Ready(&asking_type));
}

PyObject* bound_asking(PyObject* function, PyObject* self) {
  if (!asking_type.tp_dict) prepare_asking_type();
  Object made = own(asking_type.tp_alloc(&asking_type, 0));
  auto* asking = reinterpret_cast<AskingFunction*>(made.get());
  asking->call = call_asking;
  asking->function = new_reference(function);
  return checked(PyMethod_New(made.get(), self));
}

bool is_data(PyObject* descriptor) { return Py_TYPE(descriptor)->tp_descr_set != nullptr; }

PyObject* read_attribute(PyObject* self, PyObject* name) {
  if (!is_overridden(self)) return PyObject_GenericGetAttr(self, name);
  PyObject* found = find_offered(Py_TYPE(self), name);
  if (!found) return PyObject_GenericGetAttr(self, name);
  return guarded([&] {
    if (!is_data(found)) return bound_asking(found, self);
    Object getter = own(PyObject_GetAttrString(found, "__get__"));
    return call_override(getter.get(), nullptr, &self, 1, nullptr);
  });
}

}  // namespace

void offer_to_overrides(PyObject* descriptor) { offered().insert(new_reference(descriptor)); }

void ask_objects_of(PyTypeObject* type) {
  if (type->tp_getattro == PyObject_GenericGetAttr) type->tp_getattro = read_attribute;
}

void ask_plain_tensors(bool ask) {
  for (PyTypeObject* type : {tensor_type, parameter_type}) {
    if (!type) continue;
    type->tp_getattro = ask ? read_attribute : PyObject_GenericGetAttr;
    PyType_Modified(type);
  }
}

int offer_assignment(PyObject* self, PyObject* name, PyObject* value) {
  if (!is_overridden(self)) return 1;
  PyObject* found = find_offered(Py_TYPE(self), name);
  if (!found || !is_data(found)) return 1;
  return guarded_status([&] {
    Object setter = own(PyObject_GetAttrString(found, value ? "__set__" : "__delete__"));
    PyObject* args[] = {self, value};
    own(call_override(setter.get(), nullptr, args, value ? 2 : 1, nullptr));
  });
}

}  // namespace pellucid::python
