// no_grad, enable_grad, set_grad_enabled and inference_mode: context managers and decorators.
//
// All four share one object layout and differ in what entering sets. Decorated functions retain their names and
// signatures (pellucid/_C/_runtime/context_decorators.py, which also handles generators).
#include <memory>
#include <vector>

#include "core/thread_state.h"
#include "python/boundary.h"
#include "python/contexts.h"

namespace pellucid::python {
namespace {

struct GradState {
  bool grad_mode, inference_mode;
};

GradState current_state() { return {thread_state.grad_mode, thread_state.inference_mode}; }
// In inference mode nothing is recorded, even in inner enable_grad contexts.
void restore(GradState state) {
  thread_state.grad_mode = state.grad_mode && !state.inference_mode;
  thread_state.inference_mode = state.inference_mode;
}

struct ContextObject {
  PyObject_HEAD GradState entered;  // the state that entering sets
  bool sets_inference;              // false: inference mode is unchanged
  GradState saved;                  // of the outermost entry
  int depth;
  std::vector<GradState>* nested;  // of inner entries of the same object
};

ContextObject* as_context(PyObject* object) { return reinterpret_cast<ContextObject*>(object); }

// Passes a boundary if inference mode begins or ends; false with a Python error set.
bool announce(bool changes_inference) {
  if (!changes_inference) return true;
  Object done = Object::steal(guarded([] {
    pass_boundary("inference_mode");
    return none();
  }));
  return static_cast<bool>(done);
}

PyObject* enter(PyObject* self, PyObject*) {
  ContextObject& context = *as_context(self);
  if (!announce(context.sets_inference)) return nullptr;
  if (context.depth++ == 0) {
    context.saved = current_state();
  } else {
    if (!context.nested) context.nested = new std::vector<GradState>;
    context.nested->push_back(current_state());
  }
  GradState next = context.entered;
  if (!context.sets_inference) next.inference_mode = thread_state.inference_mode;
  restore(next);
  Py_RETURN_NONE;
}

PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  ContextObject& context = *as_context(self);
  if (context.depth == 0) {
    PyErr_SetString(PyExc_RuntimeError, "the context was left without being entered");
    return nullptr;
  }
  if (!announce(context.sets_inference)) return nullptr;
  if (--context.depth == 0) {
    restore(context.saved);
  } else {
    restore(context.nested->back());
    context.nested->pop_back();
  }
  Py_RETURN_FALSE;
}

void deallocate(PyObject* self) {
  delete as_context(self)->nested;
  Py_TYPE(self)->tp_free(self);
}

PyObject* decorate(PyObject* self, PyObject* function) {
  static Object& decorator = *new Object;  // never freed: at exit the interpreter is gone
  return guarded([&] {
    if (!decorator) {
      Object module = own(PyImport_ImportModule("pellucid._C._runtime.context_decorators"));
      decorator = own(PyObject_GetAttrString(module.get(), "decorate_context"));
    }
    return checked(PyObject_CallFunctionObjArgs(decorator.get(), self, function, nullptr));
  });
}

PyObject* call(PyObject* self, PyObject* args, PyObject* kwargs) {
  if (kwargs || PyTuple_GET_SIZE(args) != 1) {
    PyErr_SetString(PyExc_TypeError, "a grad-mode context decorates exactly one function");
    return nullptr;
  }
  return decorate(self, PyTuple_GET_ITEM(args, 0));
}

PyObject* make(PyTypeObject* type, GradState entered, bool sets_inference = false) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  as_context(self)->entered = entered;
  as_context(self)->sets_inference = sets_inference;
  return self;
}

// no_grad(function) decorates; no_grad() makes the context.
PyObject* make_or_decorate(PyTypeObject* type, PyObject* args, PyObject* kwargs, GradState entered) {
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  if (count > 1 || (kwargs && PyDict_GET_SIZE(kwargs))) {
    PyErr_Format(PyExc_TypeError, "%s() takes no arguments, or the one function that it decorates", type->tp_name);
    return nullptr;
  }
  Object context = Object::steal(make(type, entered));
  if (!context || count == 0) return context.leak();
  return decorate(context.get(), PyTuple_GET_ITEM(args, 0));
}

PyObject* no_grad_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return make_or_decorate(type, args, kwargs, {false, false});
}
PyObject* enable_grad_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  return make_or_decorate(type, args, kwargs, {true, false});
}

PyObject* inference_mode_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"mode", nullptr};
  PyObject* mode = Py_True;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:inference_mode", const_cast<char**>(names), &mode)) return nullptr;
  if (PyCallable_Check(mode)) {
    Object context = Object::steal(make(type, {false, true}, true));
    return context ? decorate(context.get(), mode) : nullptr;
  }
  const int on = PyObject_IsTrue(mode);
  return on < 0 ? nullptr : make(type, {!on, on != 0}, true);
}

// Sets the mode when called; as a context manager it also restores it.
PyObject* set_grad_enabled_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"mode", nullptr};
  PyObject* given;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!:set_grad_enabled", const_cast<char**>(names), &PyBool_Type,
                                   &given))
    return nullptr;
  const bool mode = given == Py_True;
  PyObject* self = make(type, {mode, thread_state.inference_mode});
  if (!self) return nullptr;
  as_context(self)->saved = current_state();
  thread_state.grad_mode = mode;
  return self;
}

// Leaving restores the state before the constructor, which has set the mode already.
PyObject* set_grad_enabled_enter(PyObject* self, PyObject* unused) {
  ContextObject& context = *as_context(self);
  if (context.depth > 0) return enter(self, unused);
  ++context.depth;
  thread_state.grad_mode = context.entered.grad_mode;
  Py_RETURN_NONE;
}

// As a decorator, only the function runs in the mode.
PyObject* set_grad_enabled_call(PyObject* self, PyObject* args, PyObject* kwargs) {
  restore(as_context(self)->saved);
  return call(self, args, kwargs);
}

PyObject* clone(PyObject* self, PyObject*) {
  PyObject* copy = make(Py_TYPE(self), as_context(self)->entered, as_context(self)->sets_inference);
  if (copy) as_context(copy)->saved = current_state();
  return copy;
}

PyObject* get_mode(PyObject* self, void*) {
  const GradState& entered = as_context(self)->entered;
  return PyBool_FromLong(entered.inference_mode || entered.grad_mode);
}

PyObject* get_previous(PyObject* self, void*) { return PyBool_FromLong(as_context(self)->saved.grad_mode); }

#define CONTEXT_METHODS(enter_function)                                                                           \
  {                                                                                                               \
    {"__enter__", enter_function, METH_NOARGS, nullptr},                                                          \
        {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL, nullptr}, \
        {"clone", clone, METH_NOARGS, "A fresh context of the same kind."}, {}                                    \
  }
PyMethodDef context_methods[] = CONTEXT_METHODS(enter);
PyMethodDef setting_methods[] = CONTEXT_METHODS(set_grad_enabled_enter);
#undef CONTEXT_METHODS
PyGetSetDef context_attributes[] = {
    {"mode", get_mode, nullptr, "The grad mode that entering sets.", nullptr},
    {"prev", get_previous, nullptr, "The grad mode that leaving restores.", nullptr},
    {},
};

struct ContextType {
  const char* name;
  const char* doc;
  newfunc make;
  PyMethodDef* methods;
  ternaryfunc call;
  PyTypeObject type = {PyVarObject_HEAD_INIT(nullptr, 0)};
};

ContextType context_types[] = {
    {"pellucid.no_grad", "no_grad(): a scope in which no gradients are recorded.", no_grad_new, context_methods, call},
    {"pellucid.enable_grad", "enable_grad(): a scope in which gradients are recorded again.", enable_grad_new,
     context_methods, call},
    {"pellucid.inference_mode", "inference_mode(mode=True): like no_grad, and tensors made in it never record.",
     inference_mode_new, context_methods, call},
    {"pellucid.set_grad_enabled", "set_grad_enabled(mode): turns recording on or off, as a function or for a scope.",
     set_grad_enabled_new, setting_methods, set_grad_enabled_call},
};

PyObject* is_grad_enabled(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.grad_mode); }
PyObject* is_inference_mode_enabled(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.inference_mode); }
PyObject* set_grad_mode(PyObject*, PyObject* mode) {
  const int on = PyObject_IsTrue(mode);
  if (on < 0) return nullptr;
  thread_state.grad_mode = on != 0;
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {
    {"is_grad_enabled", is_grad_enabled, METH_NOARGS, "Whether gradients are recorded."},
    {"is_inference_mode_enabled", is_inference_mode_enabled, METH_NOARGS, "Whether inference mode is on."},
    {"_set_grad_enabled", set_grad_mode, METH_O, nullptr},
    {},
};

}  // namespace

void add_grad_modes(PyObject* module) {
  for (ContextType& context : context_types) {
    PyTypeObject& type = context.type;
    type.tp_name = context.name;
    type.tp_doc = context.doc;
    type.tp_basicsize = sizeof(ContextObject);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
    type.tp_new = context.make;
    type.tp_dealloc = deallocate;
    type.tp_call = context.call;
    type.tp_methods = context.methods;
    type.tp_getset = context_attributes;
    checked(PyType_Ready(&type));
    checked(PyModule_AddObjectRef(module, type.tp_name + sizeof("pellucid"), reinterpret_cast<PyObject*>(&type)));
  }
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
