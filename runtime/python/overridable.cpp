// _C.overridable: a function written in Python whose calls __torch_function__ sees.
//
// The callable passes calls to modes and overriding arguments, as ops do, or else calls the function. It replaces the
// function and has its name, signature and attributes. For plain tensors, the overhead is one test per argument.
#include "python/overridable.h"

#include <cstddef>

#include "python/function_protocol.h"

namespace pellucid::python {
namespace {

struct Overridable {
  PyObject_HEAD PyObject* function;
  PyObject* seen;  // computes the arguments that __torch_function__ receives; null: those of the call
  vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weak_references;
};

PyTypeObject overridable_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

Overridable* as_overridable(PyObject* object) { return reinterpret_cast<Overridable*>(object); }

// Passes the call to modes and overriding arguments.
PyObject* overridden(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  PyObject* seen = as_overridable(self)->seen;
  if (!seen) return call_override(self, nullptr, args, count, keywords);
  const Object shown = own(PyObject_Vectorcall(seen, args, count, nullptr));
  return call_override(self, nullptr, &PyTuple_GET_ITEM(shown.get(), 0), PyTuple_GET_SIZE(shown.get()), keywords);
}

PyObject* call(PyObject* self, PyObject* const* args, size_t flagged_count, PyObject* keywords) {
  const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  if (call_is_overridden({args, static_cast<size_t>(count + named)})) [[unlikely]]
    return guarded([&] { return overridden(self, args, count, keywords ? keywords : no_keywords()); });
  PyObject* function = as_overridable(self)->function;
  return PyVectorcall_Function(function)(function, args, flagged_count, keywords);  // of a Python function
}

// overridable(function, seen): `seen`, unless None, computes the positional arguments that __torch_function__ receives.
PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject* function;
    PyObject* seen = Py_None;
    if (!PyArg_ParseTuple(args, "O!|O:overridable", &PyFunction_Type, &function, &seen)) return nullptr;
    Object made = own(type->tp_alloc(type, 0));
    auto* object = as_overridable(made.get());
    object->function = new_reference(function);
    object->seen = seen == Py_None ? nullptr : new_reference(seen);
    object->vectorcall = call;
    object->dict = checked(PyDict_New());
    checked(PyDict_SetItemString(object->dict, "__wrapped__", function));
    for (const char* name : {"__module__", "__name__", "__qualname__", "__doc__"}) {
      Object value = own(PyObject_GetAttrString(function, name));
      checked(PyDict_SetItemString(object->dict, name, value.get()));
    }
    return made.leak();
  });
}

PyObject* attribute(PyObject* self, PyObject* name) {
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_GetAttr(as_overridable(self)->function, name);
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  return object ? PyMethod_New(self, object) : new_reference(self);
}

PyObject* represent(PyObject* self) { return PyObject_Repr(as_overridable(self)->function); }

// Pickled and copied by its name, as functions are.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};

PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {},
};

}  // namespace

void add_overridable(PyObject* module) {
  overridable_type.tp_name = "pellucid._C.overridable";
  overridable_type.tp_basicsize = sizeof(Overridable);
  overridable_type.tp_vectorcall_offset = offsetof(Overridable, vectorcall);
  overridable_type.tp_dictoffset = offsetof(Overridable, dict);
  overridable_type.tp_weaklistoffset = offsetof(Overridable, weak_references);
  overridable_type.tp_call = PyVectorcall_Call;
  overridable_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR;
  overridable_type.tp_new = make;
  overridable_type.tp_getattro = attribute;
  overridable_type.tp_setattro = PyObject_GenericSetAttr;
  overridable_type.tp_descr_get = bind;
  overridable_type.tp_repr = represent;
  overridable_type.tp_methods = methods;
  overridable_type.tp_getset = attributes;
  checked(PyType_Ready(&overridable_type));
  checked(PyModule_AddObjectRef(module, "overridable", reinterpret_cast<PyObject*>(&overridable_type)));
}

}  // namespace pellucid::python
