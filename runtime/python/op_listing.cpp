// Op records for Python: names, parts of schemas, locations of callables. Read by torch.ops, torch.overrides and the
// stub generator; no call of an op does.
#include "core/dispatcher.h"
#include "ops/documentation.h"
#include "ops/graph_op.h"
#include "ops/late_ops.h"
#include "python/boxing.h"
#include "python/contexts.h"
#include "python/op_callable.h"
#include "python/op_overload.h"

namespace pellucid::python {
namespace {

PyObject* truth(bool value) { return value ? Py_True : Py_False; }

// As PyTorch's schemas have it: dtypes, layouts and memory formats by number.
PyObject* numbered_default(const Value& value) {
  switch (value.tag) {
    case Tag::DType: return PyLong_FromLong(kScalarTypes[value.integer]);
    case Tag::Layout:
    case Tag::MemoryFormat: return PyLong_FromLongLong(value.integer);
    default: return value_object(value);
  }
}

// (name, type, alias annotation, optional, list size, default by number, default or None, has default, keyword only)
Object argument_entry(const Argument& argument) {
  Object number = own(numbered_default(argument.default_value)), value = own(value_object(argument.default_value));
  return own(Py_BuildValue("(sssOiOOOO)", argument.name.c_str(), argument.type_text.c_str(), argument.alias.c_str(),
                           truth(argument.optional), static_cast<int>(argument.list_size), number.get(), value.get(),
                           truth(argument.has_default), truth(argument.keyword_only)));
}

Object return_entry(const Return& result) {
  return own(Py_BuildValue("(sss)", result.name.c_str(), result.type_text.c_str(), result.alias.c_str()));
}

template <class Items, class Entry>
Object entries(const Items& items, Entry&& entry) {
  Object list = own(PyList_New(0));
  for (const auto& item : items) checked(PyList_Append(list.get(), entry(item).get()));
  return list;
}

// The op overload that a Python string names: "aten::add.Tensor".
const OpRecord& overload_named(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (!text) raise_python();
  const OpRecord* op = find_op(text);
  if (!op) raise(ErrorKind::Runtime, "there is no op overload %s", text);
  return *op;
}

PyObject* entry_of(const Schema& schema, std::string_view name_space) {
  Object arguments = entries(schema.arguments, argument_entry);
  Object returns = entries(schema.returns, return_entry);
  const std::string text = print_schema(schema);
  return checked(Py_BuildValue("(s#ssOOs)", name_space.data(), static_cast<Py_ssize_t>(name_space.size()),
                               schema.name.c_str(), schema.overload.c_str(), arguments.get(), returns.get(),
                               text.c_str()));
}

// _op_schema("aten::add.Tensor"): (namespace, name, overload, arguments, returns, text without the name).
PyObject* op_schema(PyObject*, PyObject* name) {
  return guarded([&] { return schema_entry(overload_named(name)); });
}

// _parse_schema(text): the same of a schema that no op needs to have.
PyObject* parse_text(PyObject*, PyObject* text_object) {
  return guarded([&] {
    const char* text = PyUnicode_AsUTF8(text_object);
    if (!text) raise_python();
    const Schema schema = parse_schema(text);
    return entry_of(schema, schema.name_space);
  });
}

// _result_type("aten::max.dim"): torch.return_types.max; None of an op whose results have no names.
PyObject* result_type_of(PyObject*, PyObject* name) {
  return guarded([&] { return result_type(overload_named(name)); });
}

// _op_facts("aten::add.Tensor"): (kind, tags of the declaration: "core pointwise").
PyObject* op_facts(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const OpRecord& op = overload_named(name);
    return checked(Py_BuildValue("(ss)", kOpKindNames[static_cast<int>(op.kind)].data(), op.tags.c_str()));
  });
}

// _list_ops(): (full name, kind, is a method, is a function, module, takes loose tensors) of every overload.
PyObject* list_ops(PyObject*, PyObject*) {
  return guarded([] {
    define_all_late_ops();
    Object list = own(PyList_New(0));
    for_each_op(
        [](OpRecord& op, void* context) {
          Object entry =
              own(Py_BuildValue("(ssOOsO)", op.qualified_name.c_str(), kOpKindNames[static_cast<int>(op.kind)].data(),
                                truth(op.is_method && op.variant != Variant::Out), truth(op.is_function),
                                op.python_module.c_str(), truth(op.loose_tensors)));
          checked(PyList_Append(static_cast<PyObject*>(context), entry.get()));
        },
        list.get());
    return list.leak();
  });
}

// _op_documentation("add"): the declaration's docstring without the signature; None if the op has no declaration.
PyObject* op_documentation(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) raise_python();
    const char* found = op_texts(text).function;
    if (!found) Py_RETURN_NONE;
    constexpr std::string_view kEndOfSignature = ")\n--\n\n";
    const std::string_view whole = found;
    const size_t end = whole.find(kEndOfSignature);
    return to_string(end == whole.npos ? whole : whole.substr(end + kEndOfSignature.size())).leak();
  });
}

PyObject* counts(PyObject*, PyObject*) {
  return guarded([] {
    const OpCounts found = count_ops();
    return checked(Py_BuildValue("(nnn)", found.records, found.retired, found.free));
  });
}

PyObject* limit_traced(PyObject*, PyObject* number) {
  return guarded([&]() -> PyObject* {
    const size_t most = PyLong_AsSize_t(number);
    if (PyErr_Occurred()) raise_python();
    return checked(PyLong_FromSize_t(most_traced.exchange(most)));
  });
}

PyMethodDef functions[] = {
    {"_count_ops", counts, METH_NOARGS, "(op records, retired ones, free ones)."},
    {"_result_type", result_type_of, METH_O, "The named tuple of an overload's results, or None."},
    {"_limit_traced", limit_traced, METH_O,
     "_limit_traced(number): how many traced keys an op caches; returns the previous limit. For tests."},
    {"_op_documentation", op_documentation, METH_O,
     "_op_documentation(name): the docstring of an op's declaration, or None."},
    {"_op_schema", op_schema, METH_O,
     "_op_schema(name): (namespace, name, overload, arguments, returns, text without the name) of an op overload."},
    {"_parse_schema", parse_text, METH_O, "_parse_schema(text): the same of a schema that no op needs to have."},
    {"_op_facts", op_facts, METH_O, "_op_facts(name): (kind, tags) of an op overload."},
    {"_list_ops", list_ops, METH_NOARGS,
     "[(full name, kind, is a method, is a function, module, takes loose tensors)] of every overload."},
    {},
};

}  // namespace

PyObject* schema_entry(const OpRecord& op) {
  return entry_of(op.schema, std::string_view(op.qualified_name).substr(0, op.qualified_name.find("::")));
}

void add_op_listing(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
