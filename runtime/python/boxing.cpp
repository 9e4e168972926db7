#include "python/boxing.h"

#include <algorithm>

#include "core/layout.h"
#include "python/convert.h"
#include "python/generator_object.h"
#include "python/numbers.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

template <class Item>
PyObject* list_of(uint32_t length, Item&& item) {
  Object list = own(PyList_New(length));
  for (uint32_t i = 0; i < length; ++i) PyList_SET_ITEM(list.get(), i, checked(item(i)));
  return list.leak();
}

[[noreturn]] void raise_wrong_result(const OpCall& call, const char* expected, PyObject* returned) {
  raise(ErrorKind::Type, "the Python kernel of %s must return %s, not %s", call.op->qualified_name.c_str(), expected,
        Py_TYPE(returned)->tp_name);
}

bool holds_items(PyObject* object, bool (*fits)(PyObject*)) {
  if (!PyList_Check(object) && !PyTuple_Check(object)) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
    if (!fits(PySequence_Fast_GET_ITEM(object, i))) return false;
  return true;
}

Value list_result(const OpCall& call, PyObject* object) {
  if (!holds_items(object, is_tensor)) raise_wrong_result(call, "a list of tensors", object);
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  auto** block = new TensorImpl*[static_cast<size_t>(count)];
  for (Py_ssize_t i = 0; i < count; ++i)
    block[i] = Tensor::share(tensor_of(PySequence_Fast_GET_ITEM(object, i))).leak();
  return Value::of(std::span<TensorImpl* const>(block, static_cast<size_t>(count)));
}

bool is_integer(PyObject* object) { return PyIndex_Check(object); }
bool is_real(PyObject* object) { return PyFloat_Check(object) || PyIndex_Check(object); }

// Whether `object` is of a result type other than a tensor.
bool fits_plain(const Return& declared, PyObject* object) {
  switch (declared.type) {
    case ArgType::Int:
    case ArgType::SymInt: return is_integer(object);
    case ArgType::Float: return is_real(object);
    case ArgType::Bool: return PyBool_Check(object);
    case ArgType::Scalar: return is_real(object) || PyComplex_Check(object);
    case ArgType::String: return PyUnicode_Check(object);
    case ArgType::DType: return is_dtype(object);
    case ArgType::Device: return Py_TYPE(object) == &device_type;
    case ArgType::Layout: return Py_TYPE(object) == &layout_type;
    case ArgType::MemoryFormat: return Py_TYPE(object) == &memory_format_type;
    case ArgType::IntList:
    case ArgType::SymIntList: return holds_items(object, is_integer);
    case ArgType::FloatList: return holds_items(object, is_real);
    default: return true;
  }
}

// Converts a result to an owned Value: tensors and lists of tensors as such, everything else as a Python object.
Value result_value(const OpCall& call, const Return& declared, PyObject* object) {
  if (declared.type == ArgType::TensorList) return list_result(call, object);
  Value result;
  if (declared.type == ArgType::Tensor) {
    if (object == Py_None) return result;
    if (!is_tensor(object)) raise_wrong_result(call, "a Tensor", object);
    return Value::of(Tensor::share(tensor_of(object)).leak());
  }
  if (!fits_plain(declared, object)) raise_wrong_result(call, declared.type_text.c_str(), object);
  result.tag = Tag::Object;
  result.object = new_reference(object);
  return result;
}

}  // namespace

PyObject* value_object(const Value& value) {
  switch (value.tag) {
    case Tag::None: return none();
    case Tag::Tensor: return wrap(Tensor::share(value.tensor));
    case Tag::Int:
    case Tag::Float:
    case Tag::Bool:
    case Tag::Complex: return number_object(value);
    case Tag::IntList: return list_of(value.length, [&](uint32_t i) { return PyLong_FromLongLong(value.integers[i]); });
    case Tag::BoolList:
      return list_of(value.length, [&](uint32_t i) { return PyBool_FromLong(value.integers[i] != 0); });
    case Tag::FloatList: return list_of(value.length, [&](uint32_t i) { return PyFloat_FromDouble(value.numbers[i]); });
    case Tag::ScalarList: return list_of(value.length, [&](uint32_t i) { return value_object(value.values[i]); });
    case Tag::TensorList:
    case Tag::OptionalTensorList:
      return list_of(value.length, [&](uint32_t i) { return wrap_or_none(Tensor::share(value.tensors[i])); });
    case Tag::DType: return new_reference(dtype_object(static_cast<DType>(value.integer)));
    case Tag::Device: return device_object(decode_device(value.integer));
    case Tag::Layout: return new_reference(layout_object(static_cast<Layout>(value.integer)));
    case Tag::MemoryFormat: return new_reference(memory_format_object(static_cast<MemoryFormat>(value.integer)));
    case Tag::String: return checked(PyUnicode_FromStringAndSize(value.string, value.length));
    case Tag::Generator: return value.object ? generator_object(*static_cast<Generator*>(value.object)) : none();
    case Tag::Object: return new_reference(static_cast<PyObject*>(value.object));
  }
  return none();
}

namespace {

bool same_value(const Value& a, const Value& b) {
  if (a.tag != b.tag || a.length != b.length) return false;
  switch (a.tag) {
    case Tag::None: return true;
    case Tag::Float: return a.number == b.number;
    case Tag::IntList: return std::equal(a.integers, a.integers + a.length, b.integers);
    case Tag::String: return std::equal(a.string, a.string + a.length, b.string);
    case Tag::Int:
    case Tag::Bool:
    case Tag::DType:
    case Tag::Device:
    case Tag::Layout:
    case Tag::MemoryFormat: return a.integer == b.integer;
    default: return false;
  }
}

bool is_default(const OpCall& call, int index) {
  const Argument& argument = call.op->schema.arguments[static_cast<size_t>(index)];
  return argument.has_default && same_value(call.args[index], argument.default_value);
}

void pack_some(const OpCall& call, int num_positional, bool with_defaults, Object& positional, Object& keywords) {
  positional = own(PyTuple_New(num_positional));
  keywords = own(PyDict_New());
  for (int i = 0; i < num_positional; ++i) PyTuple_SET_ITEM(positional.get(), i, checked(value_object(call.args[i])));
  for (int i = call.op->schema.num_positional; i < call.num_args; ++i) {
    if (!with_defaults && is_default(call, i)) continue;
    Object object = own(value_object(call.args[i]));
    const std::string& name = call.op->schema.arguments[static_cast<size_t>(i)].name;
    checked(PyDict_SetItemString(keywords.get(), name.c_str(), object.get()));
  }
}

}  // namespace

void pack_arguments(const OpCall& call, Object& positional, Object& keywords) {
  pack_some(call, call.op->schema.num_positional, true, positional, keywords);
}

void pack_given_arguments(const OpCall& call, Object& positional, Object& keywords) {
  int count = call.op->schema.num_positional;
  while (count > 0 && is_default(call, count - 1)) --count;
  pack_some(call, count, false, positional, keywords);
}

void unpack_results(OpCall& call, PyObject* returned) {
  const auto& declared = call.op->schema.returns;
  if (declared.empty()) return;
  if (declared.size() == 1) {
    call.rets[0] = result_value(call, declared[0], returned);
    return;
  }
  if (!PyTuple_Check(returned) || static_cast<size_t>(PyTuple_GET_SIZE(returned)) != declared.size())
    raise_wrong_result(call, ("a tuple of " + std::to_string(declared.size()) + " results").c_str(), returned);
  for (size_t i = 0; i < declared.size(); ++i)
    call.rets[i] = result_value(call, declared[i], PyTuple_GET_ITEM(returned, static_cast<Py_ssize_t>(i)));
}

}  // namespace pellucid::python
