// _C.CompiledFunction and _C.CompilationBase, for pellucid/_compile.
//
// A callable with too few ops to group runs without a region for `left` calls, at an overhead of some nanoseconds. The
// object has the attributes that functools.update_wrapper sets, binds as a method, and is pickled by its name.
#include "python/compiled_function.h"

#include <cstddef>

// needs Python.h first
#include <structmember.h>

#include "python/replays.h"

namespace pellucid::python {
namespace {

// The base of _compile.compilation.Compilation.
struct CompilationBase {
  PyObject_HEAD long long left;  // remaining calls without a region
  PyObject* replays;             // a tuple of Replay, or null
};

struct CompiledFunction {
  PyObject_HEAD PyObject* function;
  PyObject* compilation;
  vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weak_references;
};

PyTypeObject base_type = {PyVarObject_HEAD_INIT(nullptr, 0)};
PyTypeObject function_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

CompiledFunction* as_compiled(PyObject* object) { return reinterpret_cast<CompiledFunction*>(object); }

int traverse_base(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<CompilationBase*>(object)->replays);
  return 0;
}

int clear_base(PyObject* object) {
  Py_CLEAR(reinterpret_cast<CompilationBase*>(object)->replays);
  return 0;
}

void free_base(PyObject* object) {
  PyObject_GC_UnTrack(object);
  clear_base(object);
  Py_TYPE(object)->tp_free(object);
}

// compilation.run(function, args, kwargs)
PyObject* run(const CompiledFunction& self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  return guarded([&] {
    static PyObject* const name = checked(PyUnicode_InternFromString("run"));
    Object positional = own(PyTuple_New(count)), named = own(PyDict_New());
    for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(positional.get(), i, new_reference(args[i]));
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i)
      checked(PyDict_SetItem(named.get(), PyTuple_GET_ITEM(keywords, i), args[count + i]));
    PyObject* const arguments[] = {self.compilation, self.function, positional.get(), named.get()};
    return checked(PyObject_VectorcallMethod(name, arguments, 4, nullptr));
  });
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flagged_count, PyObject* keywords) {
  const CompiledFunction& self = *as_compiled(object);
  auto* compilation = reinterpret_cast<CompilationBase*>(self.compilation);
  if (compilation->replays && compilation->replays != Py_None) {
    Object replays = Object::borrow(compilation->replays);
    PyObject* result = replay_call(replays.get(), args, PyVectorcall_NARGS(flagged_count), keywords);
    if (result || PyErr_Occurred()) return result;
  }
  long long& left = compilation->left;
  if (left > 0) [[likely]] {
    --left;
    return PyObject_Vectorcall(self.function, args, flagged_count, keywords);
  }
  return run(self, args, PyVectorcall_NARGS(flagged_count), keywords);
}

// CompiledFunction(function, compilation)
PyObject* make(PyTypeObject* type, PyObject* args, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyObject *function, *compilation;
    if (!PyArg_ParseTuple(args, "OO!:CompiledFunction", &function, &base_type, &compilation)) return nullptr;
    Object made = own(type->tp_alloc(type, 0));
    auto* object = as_compiled(made.get());
    object->function = new_reference(function);
    object->compilation = new_reference(compilation);
    object->vectorcall = call;
    object->dict = checked(PyDict_New());
    return made.leak();
  });
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  CompiledFunction* self = as_compiled(object);
  Py_VISIT(self->function);
  Py_VISIT(self->compilation);
  Py_VISIT(self->dict);
  return 0;
}

int clear(PyObject* object) {
  Py_CLEAR(as_compiled(object)->dict);
  return 0;
}

void deallocate(PyObject* object) {
  CompiledFunction* self = as_compiled(object);
  PyObject_GC_UnTrack(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->function);
  Py_CLEAR(self->compilation);
  Py_TYPE(object)->tp_free(object);
}

PyObject* bind(PyObject* self, PyObject* object, PyObject*) {
  return object ? PyMethod_New(self, object) : new_reference(self);
}

PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<compiled %R at %p>", as_compiled(self)->function, self);
}

PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};
PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {},
};
PyMemberDef base_members[] = {
    {"left", T_LONGLONG, offsetof(CompilationBase, left), 0, "Remaining calls without a region."},
    {"replays", T_OBJECT, offsetof(CompilationBase, replays), 0, "A tuple of Replay, or None."},
    {},
};

}  // namespace

void add_compiled_function(PyObject* module) {
  base_type.tp_name = "pellucid._C.CompilationBase";
  base_type.tp_basicsize = sizeof(CompilationBase);
  base_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  base_type.tp_traverse = traverse_base;
  base_type.tp_clear = clear_base;
  base_type.tp_new = PyType_GenericNew;
  base_type.tp_members = base_members;
  base_type.tp_dealloc = free_base;
  checked(PyType_Ready(&base_type));
  checked(PyModule_AddObjectRef(module, "CompilationBase", reinterpret_cast<PyObject*>(&base_type)));

  function_type.tp_name = "pellucid._C.CompiledFunction";
  function_type.tp_basicsize = sizeof(CompiledFunction);
  function_type.tp_vectorcall_offset = offsetof(CompiledFunction, vectorcall);
  function_type.tp_dictoffset = offsetof(CompiledFunction, dict);
  function_type.tp_weaklistoffset = offsetof(CompiledFunction, weak_references);
  function_type.tp_call = PyVectorcall_Call;
  function_type.tp_flags =
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_HAVE_GC;
  function_type.tp_new = make;
  function_type.tp_traverse = traverse;
  function_type.tp_clear = clear;
  function_type.tp_dealloc = deallocate;
  function_type.tp_getattro = PyObject_GenericGetAttr;
  function_type.tp_setattro = PyObject_GenericSetAttr;
  function_type.tp_descr_get = bind;
  function_type.tp_repr = represent;
  function_type.tp_methods = methods;
  function_type.tp_getset = attributes;
  checked(PyType_Ready(&function_type));
  checked(PyModule_AddObjectRef(module, "CompiledFunction", reinterpret_cast<PyObject*>(&function_type)));
}

}  // namespace pellucid::python
