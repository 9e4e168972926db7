#include "python/op_overload.h"

#include <algorithm>

#include "core/dispatcher.h"
#include "python/convert.h"
#include "python/overload_sets.h"

namespace pellucid::python {
namespace {

struct OverloadObject {
  PyObject_HEAD const OpRecord* op;
  OverloadSet* set;
  vectorcallfunc vectorcall;
  PyObject* dict;
  bool returns_lists;
};

PyTypeObject overload_base_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

PyObject* as_list(PyObject* object) {
  return PyTuple_CheckExact(object) ? checked(PySequence_List(object)) : new_reference(object);
}

// The results with lists in place of tuples of tensors: those are what functions and methods return.
Object with_lists(const std::vector<Return>& returns, Object results) {
  if (returns.size() == 1) return own(as_list(results.get()));
  if (!PyTuple_CheckExact(results.get())) return results;
  Object tuple = own(PyTuple_New(PyTuple_GET_SIZE(results.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(results.get()); ++i) {
    PyObject* result = PyTuple_GET_ITEM(results.get(), i);
    PyTuple_SET_ITEM(tuple.get(), i, returns[static_cast<size_t>(i)].is_list ? as_list(result) : new_reference(result));
  }
  return tuple;
}

PyObject* call_overload(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* keywords) {
  const auto& overload = *reinterpret_cast<OverloadObject*>(self);
  return guarded([&] {
    PyObject* result = call_overloads(*overload.set, {nullptr, args, PyVectorcall_NARGS(nargsf), keywords});
    if (!overload.returns_lists || !result) [[likely]]
      return result;
    return with_lists(overload.op->schema.returns, Object::steal(result)).leak();
  });
}

// decompose(*args, **kwargs): the op as the ops that it calls; NotImplemented if it has no body.
PyObject* decompose(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  OverloadSet& set = *reinterpret_cast<OverloadObject*>(self)->set;
  return guarded([&] { return call_inside(set, {nullptr, args, count, keywords}); });
}

PyMethodDef methods[] = {
    {"decompose", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(decompose)), METH_FASTCALL | METH_KEYWORDS,
     "A call as the ops that it consists of; NotImplemented without such ops."},
    {},
};

PyObject* full_name(PyObject* self, void*) {
  return guarded([&] { return to_string(reinterpret_cast<OverloadObject*>(self)->op->qualified_name).leak(); });
}

PyObject* schema_parts(PyObject* self, void*) {
  return guarded([&] { return schema_entry(*reinterpret_cast<OverloadObject*>(self)->op); });
}

PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"_full_name", full_name, nullptr, "\"aten::add.Tensor\"", nullptr},
    {"_schema_parts", schema_parts, nullptr, "(namespace, name, overload, arguments, returns, text)", nullptr},
    {},
};

PyObject* make_overload(const OpRecord& op) {
  static LateImport type("pellucid._ops", "OpOverload");
  auto& subclass = *reinterpret_cast<PyTypeObject*>(type.get());
  subclass.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;  // classes written in Python inherit it since CPython 3.12 alone
  auto* object = reinterpret_cast<OverloadObject*>(checked(subclass.tp_alloc(&subclass, 0)));
  keep_op_forever(op);
  object->op = &op;
  object->set = overload_set(const_cast<OpRecord&>(op));
  object->set->callable = reinterpret_cast<PyObject*>(object);  // what __torch_function__ receives
  object->vectorcall = call_overload;
  object->returns_lists = std::ranges::any_of(op.schema.returns, &Return::is_list);
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace

PyObject* overload_object(const OpRecord& op) {
  if (!op.python) [[unlikely]]
    op.python = make_overload(op);
  return static_cast<PyObject*>(op.python);
}

void add_op_overload(PyObject* module) {
  overload_base_type.tp_name = "pellucid._C._OpOverloadBase";
  overload_base_type.tp_doc = "The callable part of torch.ops' OpOverload.";
  overload_base_type.tp_basicsize = sizeof(OverloadObject);
  overload_base_type.tp_vectorcall_offset = offsetof(OverloadObject, vectorcall);
  overload_base_type.tp_dictoffset = offsetof(OverloadObject, dict);
  overload_base_type.tp_call = PyVectorcall_Call;
  overload_base_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL;
  overload_base_type.tp_getset = attributes;
  overload_base_type.tp_methods = methods;
  checked(PyType_Ready(&overload_base_type));
  checked(PyModule_AddObjectRef(module, "_OpOverloadBase", reinterpret_cast<PyObject*>(&overload_base_type)));
}

}  // namespace pellucid::python
