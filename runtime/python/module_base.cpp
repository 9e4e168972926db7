// pellucid._C.ModuleBase: the C base of nn.Module (contract: src/pellucid/nn/modules/module.py).
//
// An attribute that normal lookup does not find is looked up in the dicts of parameters, buffers and submodules. Until
// the first hook of the process is registered, a call goes to `forward` without Python in between.
#include "python/module_base.h"

#include <unordered_map>

#include "python/call_lines.h"
#include "python/module_calls.h"

namespace pellucid::python {
namespace {

struct ModuleObject {
  PyObject_HEAD PyObject* dict;
  PyObject* weak_references;
};

bool hooks_exist = false;
PyObject *forward_name, *call_impl_name;
PyObject* member_names[3];

ModuleObject* as_module(PyObject* object) { return reinterpret_cast<ModuleObject*>(object); }

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (as_module(self)->weak_references) PyObject_ClearWeakRefs(self);
  Py_CLEAR(as_module(self)->dict);
  Py_TYPE(self)->tp_free(self);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(as_module(self)->dict);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(as_module(self)->dict);
  return 0;
}

// Borrowed, or null without an error.
PyObject* find_member(PyObject* self, PyObject* name) {
  PyObject* dict = as_module(self)->dict;
  if (!dict) return nullptr;
  for (PyObject* member : member_names) {
    PyObject* members = PyDict_GetItemWithError(dict, member);
    if (!members || !PyDict_Check(members)) continue;
    if (PyObject* found = PyDict_GetItemWithError(members, name)) return found;
  }
  return nullptr;
}

PyObject* raise_missing(PyObject* self, PyObject* name) {
  PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute '%U'", Py_TYPE(self)->tp_name, name);
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (value) {
    PyObject_SetAttrString(value, "name", name);
    PyObject_SetAttrString(value, "obj", self);
  }
  PyErr_Restore(type, value, traceback);
  return nullptr;
}

// Borrowed, or null, perhaps with an error.
PyObject* find_own(PyObject* self, PyObject* name) {
  PyObject* dict = as_module(self)->dict;
  return dict ? PyDict_GetItemWithError(dict, name) : nullptr;
}

// Looks up members first if the type has no attribute of that name: then the frequent case costs three lookups. Methods
// need two.
PyObject* get_attribute(PyObject* self, PyObject* name) {
  PyObject* of_type = _PyType_Lookup(Py_TYPE(self), name);
  if (!of_type) {
    PyObject* own_value = find_own(self, name);
    PyObject* found = own_value ? own_value : find_member(self, name);
    if (found) return new_reference(found);
    return PyErr_Occurred() ? nullptr : raise_missing(self, name);
  }
  if (PyFunction_Check(of_type)) {
    const Object function = Object::borrow(of_type);  // the class may lose it while names are compared
    if (PyObject* own_value = find_own(self, name)) return new_reference(own_value);
    return PyErr_Occurred() ? nullptr : PyMethod_New(function.get(), self);
  }
  PyObject* found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyObject* member = find_member(self, name);  // a property that raised AttributeError
  if (!member) return nullptr;
  PyErr_Clear();
  return new_reference(member);
}

PyObject* get_missing_attribute(PyObject* self, PyObject* name) {
  if (PyObject* member = find_member(self, name)) return new_reference(member);
  return PyErr_Occurred() ? nullptr : raise_missing(self, name);
}

using ModuleNumbers = std::unordered_map<PyObject*, int64_t>;

// The modules of the timeline's sessions, with owned references.
ModuleNumbers& module_numbers() {
  static auto* made = new ModuleNumbers;
  return *made;
}

PyObject* call_unrecorded(PyObject* self, PyObject* args, PyObject* kwargs);

PyObject* call_recorded(PyObject* self, PyObject* args, PyObject* kwargs) {
  note_line();
  TextScope scope(EventKind::Module, Py_TYPE(self)->tp_name);  // the session holds the module, and so its type
  if (TimelineEvent* event = scope.event()) event->extra = static_cast<uint64_t>(module_number(self));
  return call_unrecorded(self, args, kwargs);
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (is_watched(kWatchModules)) [[unlikely]]
    return call_recorded(self, args, kwargs);
  return call_unrecorded(self, args, kwargs);
}

// Calls `self.name(...)`, without a bound method if the type's attribute is a plain function.
PyObject* call_unrecorded(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* name = hooks_exist ? call_impl_name : forward_name;
  PyObject* found = _PyType_Lookup(Py_TYPE(self), name);
  PyObject* dict = as_module(self)->dict;
  const bool is_function = found && PyFunction_Check(found) && !(dict && PyDict_GetItemWithError(dict, name));
  if (!is_function || kwargs) {
    Object function = Object::steal(PyObject_GetAttr(self, name));
    return function ? PyObject_Call(function.get(), args, kwargs) : nullptr;
  }
  constexpr Py_ssize_t kStack = 8;
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (count >= kStack) {
    Object function = Object::steal(PyObject_GetAttr(self, name));
    return function ? PyObject_Call(function.get(), args, nullptr) : nullptr;
  }
  PyObject* stack[kStack];
  stack[0] = self;
  for (Py_ssize_t i = 0; i < count; ++i) stack[i + 1] = PyTuple_GET_ITEM(args, i);
  Object function = Object::borrow(found);  // the class may lose it while it runs
  return PyObject_Vectorcall(function.get(), stack, static_cast<size_t>(count + 1), nullptr);
}

PyObject* enable_hooks(PyObject*, PyObject*) {
  hooks_exist = true;
  Py_RETURN_NONE;
}

extern PyTypeObject module_type;

// Python gives a class that inherits `__getattr__` a slow attribute lookup. Ours includes `__getattr__`, so it is
// restored for classes that override neither. Then calls the next class's __init_subclass__.
PyObject* init_subclass(PyObject* type, PyObject* args, PyObject* kwargs) {
  return guarded([&] {
    static PyObject* first_half = checked(PyUnicode_InternFromString("__getattribute__"));
    static PyObject* second_half = checked(PyUnicode_InternFromString("__getattr__"));
    auto* subclass = reinterpret_cast<PyTypeObject*>(type);
    if (_PyType_Lookup(subclass, second_half) == _PyType_Lookup(&module_type, second_half) &&
        _PyType_Lookup(subclass, first_half) == _PyType_Lookup(&module_type, first_half))
      subclass->tp_getattro = get_attribute;
    auto* super_type = reinterpret_cast<PyObject*>(&PySuper_Type);
    Object parent = own(PyObject_CallFunctionObjArgs(super_type, &module_type, type, nullptr));
    Object next = own(PyObject_GetAttrString(parent.get(), "__init_subclass__"));
    return checked(PyObject_Call(next.get(), args, kwargs));
  });
}

PyMethodDef methods[] = {
    {"__init_subclass__", reinterpret_cast<PyCFunction>(init_subclass), METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     nullptr},
    {"__getattr__", get_missing_attribute, METH_O | METH_COEXIST,
     "The second half of attribute lookup: parameters, buffers, submodules."},
    {},
};
PyGetSetDef attributes[] = {{"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr}, {}};
PyMethodDef functions[] = {
    {"enable_module_hooks", enable_hooks, METH_NOARGS,
     "From now on modules are called through `_call_impl`, which runs hooks."},
    {},
};

PyTypeObject module_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

}  // namespace

int64_t module_number(PyObject* module) {
  const auto [entry, fresh] = module_numbers().try_emplace(module, static_cast<int64_t>(module_numbers().size()));
  if (fresh) Py_INCREF(module);
  return entry->second;
}

Object listed_modules() {
  Object list = own(PyList_New(static_cast<Py_ssize_t>(module_numbers().size())));
  for (const auto& [module, number] : module_numbers()) PyList_SET_ITEM(list.get(), number, new_reference(module));
  return list;
}

void forget_modules() {
  const auto held = std::exchange(module_numbers(), {});
  for (const auto& [module, number] : held) Py_DECREF(module);
}

void add_module_base(PyObject* module) {
  forward_name = checked(PyUnicode_InternFromString("forward"));
  call_impl_name = checked(PyUnicode_InternFromString("_call_impl"));
  const char* names[] = {"_parameters", "_buffers", "_modules"};
  for (int i = 0; i < 3; ++i) member_names[i] = checked(PyUnicode_InternFromString(names[i]));
  module_type.tp_name = "pellucid._C.ModuleBase";
  module_type.tp_doc = "The runtime's part of nn.Module.";
  module_type.tp_basicsize = sizeof(ModuleObject);
  module_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  module_type.tp_dictoffset = offsetof(ModuleObject, dict);
  module_type.tp_weaklistoffset = offsetof(ModuleObject, weak_references);
  module_type.tp_dealloc = deallocate;
  module_type.tp_traverse = traverse;
  module_type.tp_clear = clear;
  module_type.tp_new = PyType_GenericNew;
  module_type.tp_getattro = get_attribute;
  module_type.tp_call = call;
  module_type.tp_methods = methods;
  module_type.tp_getset = attributes;
  checked(PyType_Ready(&module_type));
  checked(PyModule_AddObjectRef(module, "ModuleBase", reinterpret_cast<PyObject*>(&module_type)));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
