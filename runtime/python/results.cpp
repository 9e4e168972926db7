// Results of ops as Python objects: tensors, numbers, tuples, and named tuples for named results.

#include <map>
#include <memory>
#include <vector>

#include "python/numbers.h"
#include "python/op_callable.h"

namespace pellucid::python {
namespace {

PyObject* wrap_list(const Value& value) {
  std::unique_ptr<TensorImpl* const[]> block(value.tensors);
  Object tuple = own(PyTuple_New(value.length));
  uint32_t next = 0;
  try {
    for (; next < value.length; ++next) PyTuple_SET_ITEM(tuple.get(), next, wrap(Tensor::adopt(block[next])));
  } catch (...) {
    while (++next < value.length) Tensor::adopt(block[next]);
    throw;
  }
  return tuple.leak();
}

PyObject* wrap_value(const Value& value) {
  switch (value.tag) {
    case Tag::None: return none();
    case Tag::Tensor: return wrap(Tensor::adopt(value.tensor));
    case Tag::TensorList: return wrap_list(value);
    case Tag::Object: return static_cast<PyObject*>(value.object);
    default: return number_object(value);
  }
}

// As PyTorch prints results: one field a line.
PyObject* named_tuple_repr(PyObject* self) {
  Object text = Object::steal(PyUnicode_FromFormat("%s(", Py_TYPE(self)->tp_name));
  PyMemberDef* fields = Py_TYPE(self)->tp_members;
  for (Py_ssize_t i = 0; text && i < PyTuple_GET_SIZE(self); ++i) {
    text = Object::steal(
        PyUnicode_FromFormat("%U%s\n%s=%R", text.get(), i ? "," : "", fields[i].name, PyTuple_GET_ITEM(self, i)));
  }
  return text ? PyUnicode_FromFormat("%U)", text.get()) : nullptr;
}

PyTypeObject* make_named_tuple(const Schema& schema) {
  auto* names = new std::vector<PyStructSequence_Field>;  // types are never freed
  for (const Return& result : schema.returns) names->push_back({result.name.c_str(), nullptr});
  names->push_back({nullptr, nullptr});
  auto* type_name = new std::string("torch.return_types." + schema.name);
  PyStructSequence_Desc description{type_name->c_str(), nullptr, names->data(),
                                    static_cast<int>(schema.returns.size())};
  PyTypeObject* type = PyStructSequence_NewType(&description);
  if (!type) raise_python();
  type->tp_repr = named_tuple_repr;
  return type;
}

// One type per op name and field names, shared by its overloads.
PyTypeObject* shared_named_tuple(const OpRecord& op) {
  static auto* types = new std::map<std::string, PyTypeObject*>;
  std::string key = op.schema.name;
  for (const Return& result : op.schema.returns) key += "," + result.name;
  PyTypeObject*& type = (*types)[key];
  if (!type) type = make_named_tuple(op.schema);
  return type;
}

PyTypeObject* named_tuple_type(const OpRecord& op) {
  static auto* by_id = new std::vector<PyTypeObject*>;
  if (by_id->size() <= op.id) by_id->resize(op.id + 1, nullptr);
  PyTypeObject*& type = (*by_id)[op.id];
  if (!type) type = shared_named_tuple(op);
  return type;
}

// Like PyStructSequence_New, without its lookup of the number of fields in the type's dict.
PyObject* make_tuple(PyTypeObject* type, Py_ssize_t count) { return type->tp_alloc(type, count); }

}  // namespace

PyObject* wrap_results(const OpRecord& op, Value* results) {
  const auto& returns = op.schema.returns;
  if (returns.empty()) return none();
  if (returns.size() == 1) return wrap_value(results[0]);
  const bool named = !returns[0].name.empty();
  const auto count = static_cast<Py_ssize_t>(returns.size());
  Object tuple = own(named ? make_tuple(named_tuple_type(op), count) : PyTuple_New(count));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(tuple.get(), i, wrap_value(results[i]));
  return tuple.leak();
}

PyObject* result_type(const OpRecord& op) {
  const auto& returns = op.schema.returns;
  if (returns.size() < 2 || returns[0].name.empty()) return none();
  return Object::borrow(reinterpret_cast<PyObject*>(named_tuple_type(op))).leak();
}

}  // namespace pellucid::python
