// What graphs of compiled callables need of the bindings: boundaries, the scope, and results that arrive later.
#include "python/boundary.h"

#include <utility>

#include "core/thread_state.h"
#include "python/tensor_object.h"

namespace pellucid::python {

int num_boundaries = 0;

namespace {

Object& callback() {
  static thread_local Object& object = *new Object;  // never freed: at exit the interpreter is gone
  return object;
}

// _set_boundary(callback or None): of this thread; returns the one before.
PyObject* set_boundary(PyObject*, PyObject* given) {
  return guarded([&] {
    Object before = std::exchange(callback(), given == Py_None ? Object() : Object::borrow(given));
    num_boundaries += (given != Py_None) - static_cast<bool>(before);
    return before ? before.leak() : none();
  });
}

// _scope(): two equal values mean that calls would be handled alike, but for grad mode and casts.
PyObject* scope(PyObject*, PyObject*) {
  return guarded([] {
    const KeySet include = thread_state.include - Key::Autocast, exclude = thread_state.exclude - Key::Autocast;
    const int flags =
        thread_state.inference_mode + 2 * thread_state.packs_saved_tensors + 4 * thread_state.anomaly_mode;
    return checked(Py_BuildValue("(KKi)", static_cast<unsigned long long>(include.bits()),
                                 static_cast<unsigned long long>(exclude.bits()), flags));
  });
}

// _swap_tensors(a, b): each object has the other's tensor from then on.
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
    {"_set_boundary", set_boundary, METH_O, "_set_boundary(callback or None): returns this thread's one before."},
    {"_scope", scope, METH_NOARGS, "What decides how calls of this thread are handled, but for grad mode and casts."},
    {"_swap_tensors", swap_tensors, METH_VARARGS, "_swap_tensors(a, b): each object gets the other's tensor."},
    {},
};

}  // namespace

void call_boundary(const char* what) {
  if (Object function = callback()) own(PyObject_CallFunction(function.get(), "s", what));
}

void add_boundary(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
