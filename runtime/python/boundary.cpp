// What pellucid/_compile/capture needs of the bindings: boundaries, the scope, and results that are filled in later.
#include "python/boundary.h"

#include <utility>

#include "core/thread_state.h"
#include "python/tensor_object.h"

namespace pellucid::python {

int num_boundaries = 0;

namespace {

Object& callback() {
  static thread_local Object& object = *new Object;  // never freed: the interpreter ends before the thread's statics
  return object;
}

// _set_boundary(callback or None): sets this thread's callback; returns the previous one.
PyObject* set_boundary(PyObject*, PyObject* given) {
  return guarded([&] {
    Object before = std::exchange(callback(), given == Py_None ? Object() : Object::borrow(given));
    num_boundaries += (given != Py_None) - static_cast<bool>(before);
    return before ? before.leak() : none();
  });
}

// _scope(): while it is equal, calls are handled alike, except for grad mode and casts.
PyObject* scope(PyObject*, PyObject*) {
  return guarded([] {
    const KeySet include = thread_state.include - Key::Autocast, exclude = thread_state.exclude - Key::Autocast;
    const int flags =
        thread_state.inference_mode + 2 * thread_state.packs_saved_tensors + 4 * thread_state.anomaly_mode;
    return checked(Py_BuildValue("(KKi)", static_cast<unsigned long long>(include.bits()),
                                 static_cast<unsigned long long>(exclude.bits()), flags));
  });
}

// _swap_tensors(a, b): exchanges the tensors of two objects.
PyObject* swap_tensors(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *first, *second;
    if (!PyArg_ParseTuple(args, "OO:_swap_tensors", &first, &second)) return nullptr;
    if (!is_tensor(first) || Py_TYPE(first) != Py_TYPE(second))
      raise(ErrorKind::Type, "_swap_tensors takes two tensors of one class, not %s and %s", Py_TYPE(first)->tp_name,
            Py_TYPE(second)->tp_name);
    auto *a = reinterpret_cast<TensorObject*>(first), *b = reinterpret_cast<TensorObject*>(second);
    std::swap(a->tensor, b->tensor);
    std::swap(a->shape, b->shape);
    a->tensor->python = a;
    b->tensor->python = b;
    return none();
  });
}

PyMethodDef functions[] = {
    {"_set_boundary", set_boundary, METH_O, "_set_boundary(callback or None): returns this thread's previous one."},
    {"_scope", scope, METH_NOARGS,
     "The state that decides how this thread's calls are handled, except for grad mode and casts."},
    {"_swap_tensors", swap_tensors, METH_VARARGS, "_swap_tensors(a, b): exchanges the tensors of two objects."},
    {},
};

}  // namespace

void call_boundary(const char* what) {
  if (Object function = callback()) own(PyObject_CallFunction(function.get(), "s", what));
}

void add_boundary(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
