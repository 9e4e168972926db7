// This thread's autocast settings, for amp/autocast_mode.py.
#include "transforms/autocast.h"
#include "python/boundary.h"
#include "python/contexts.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

// (enabled, dtype, whether casts are cached)
PyObject* get_state(PyObject*, PyObject*) {
  return guarded([&] {
    return checked(Py_BuildValue("(NON)", PyBool_FromLong(is_autocast_enabled()), dtype_object(autocast_settings.lower),
                                 PyBool_FromLong(autocast_settings.caches_casts)));
  });
}

PyObject* set_state(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int enabled, caches_casts;
    PyObject* dtype;
    if (!PyArg_ParseTuple(args, "pO!p:_set_autocast", &enabled, &dtype_type, &dtype, &caches_casts)) return nullptr;
    pass_boundary("autocast");
    autocast_settings.lower = dtype_of(dtype);
    autocast_settings.caches_casts = caches_casts;
    set_autocast_enabled(enabled);
    return none();
  });
}

PyObject* nest(PyObject*, PyObject* change) {
  return guarded([&] {
    const long steps = PyLong_AsLong(change);
    if (steps == -1 && PyErr_Occurred()) raise_python();
    return checked(PyLong_FromLong(autocast_settings.depth += static_cast<int32_t>(steps)));
  });
}

PyObject* forget(PyObject*, PyObject*) {
  return guarded([] {
    forget_casts();
    return none();
  });
}

PyMethodDef functions[] = {
    {"_autocast_state", get_state, METH_NOARGS, "(enabled, dtype, whether casts are cached) of this thread."},
    {"_set_autocast", set_state, METH_VARARGS, "_set_autocast(enabled, dtype, caches_casts): for this thread."},
    {"_nest_autocast", nest, METH_O, "_nest_autocast(change): changes and returns the depth of this thread's regions."},
    {"_forget_casts", forget, METH_NOARGS, "Empties this thread's cache of casts."},
    {},
};

}  // namespace

void add_autocast(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
