// What amp/autocast_mode.py is made of: which ops take part, and this thread's settings.
#include <string>

#include "composite/autocast.h"
#include "core/dispatcher.h"
#include "python/contexts.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

constexpr const char* kRules[] = {"lower", "float32", "widest"};

CastRule rule_named(const std::string& wanted) {
  for (size_t k = 0; k < std::size(kRules); ++k)
    if (wanted == kRules[k]) return static_cast<CastRule>(k);
  raise(ErrorKind::Value, "a rule of autocast is \"lower\", \"float32\" or \"widest\", not \"%s\"", wanted.c_str());
}

OpRecord& known_op(const char* name) {
  OpRecord* op = find_op(name);
  if (!op) raise(ErrorKind::Runtime, "there is no op %s", name);
  return *op;
}

PyObject* register_op(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *op, *rule, *cast;
    if (!PyArg_ParseTuple(args, "sss:_register_autocast", &op, &rule, &cast)) return nullptr;
    register_autocast(known_op(op), rule_named(rule), known_op(cast));
    return none();
  });
}

// (enabled, dtype, whether casts are kept)
PyObject* get_state(PyObject*, PyObject*) {
  return guarded([&] {
    return checked(Py_BuildValue("(NON)", PyBool_FromLong(is_autocast_enabled()), dtype_object(autocast_settings.lower),
                                 PyBool_FromLong(autocast_settings.keeps_casts)));
  });
}

PyObject* set_state(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    int enabled, keeps_casts;
    PyObject* dtype;
    if (!PyArg_ParseTuple(args, "pO!p:_set_autocast", &enabled, &dtype_type, &dtype, &keeps_casts)) return nullptr;
    autocast_settings.lower = dtype_of(dtype);
    autocast_settings.keeps_casts = keeps_casts;
    set_autocast_enabled(enabled);
    return none();
  });
}

PyObject* forget(PyObject*, PyObject*) {
  return guarded([] {
    forget_casts();
    return none();
  });
}

PyMethodDef functions[] = {
    {"_register_autocast", register_op, METH_VARARGS,
     "_register_autocast(op, rule, cast): the op casts its operands in autocast regions, by the op `cast`."},
    {"_autocast_state", get_state, METH_NOARGS, "(enabled, dtype, whether casts are kept) of this thread."},
    {"_set_autocast", set_state, METH_VARARGS, "_set_autocast(enabled, dtype, keeps_casts): for this thread."},
    {"_forget_casts", forget, METH_NOARGS, "Lets go of the casts that this thread keeps."},
    {},
};

}  // namespace

void add_autocast(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
