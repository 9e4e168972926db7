#include "python/arguments.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "core/dispatcher.h"
#include "core/layout.h"
#include "python/convert.h"

namespace pellucid::python {
namespace {

struct Alias {
  const char* name;
  const char* alias;
};
// NumPy's words for arguments, accepted as PyTorch accepts them.
constexpr Alias kAliases[] = {{"dim", "axis"}, {"keepdim", "keepdims"}, {"other", "x2"}, {"self", "input"},
                              {"self", "x"},   {"self", "a"},           {"self", "x1"},  {"input", "x"},
                              {"input", "a"},  {"input", "x1"}};

// The other names of an argument, as immortal objects.
std::span<PyObject* const> aliases_of(const std::string& name) {
  static auto* made = new std::map<std::string, std::vector<PyObject*>>;
  const auto [found, is_new] = made->try_emplace(name);
  for (const Alias& pair : kAliases)
    if (is_new && name == pair.name) found->second.push_back(PyUnicode_InternFromString(pair.alias));
  return found->second;
}

bool is_integer_list(ArgType type) { return type == ArgType::IntList || type == ArgType::SymIntList; }

void take_tensor(TensorImpl* tensor, Value& out, ParsedArguments& parsed) {
  out = Value();
  out.tag = Tag::Tensor;
  out.tensor = tensor;
  parsed.keys |= tensor->keys.bits();
  parsed.elements += tensor->numel;
}

// Adds a tensor of a class that overrides calls. If all such tensors of a call have one class that inherits Tensor's
// own implementation, __torch_function__ need not be called.
void take_overriding(PyObject* object, Value& out, ParsedArguments& parsed) {
  PyTypeObject* type = Py_TYPE(object);
  if (!is_tensor(object) || (parsed.subclass && parsed.subclass != type) || !inherits_default_protocol(type)) {
    out = Value();
    parsed.overridden = true;
    return;
  }
  parsed.subclass = type;
  take_tensor(tensor_of(object), out, parsed);
}

bool convert_tensor(PyObject* object, Value& out, ParsedArguments& parsed) {
  if (is_plain_tensor(object)) [[likely]] {
    take_tensor(tensor_of(object), out, parsed);
    return true;
  }
  switch (classify_slowly(object)) {
    case TensorKind::Tensor: take_tensor(tensor_of(object), out, parsed); return true;
    case TensorKind::Overrides: take_overriding(object, out, parsed); return true;
    case TensorKind::Foreign: break;
  }
  if (!parsed.numbers_as_tensors || !to_number(object, out, parsed.memory)) return false;
  Tensor number = wrap_number(out);
  parsed.memory.hold(number.get());
  take_tensor(number.get(), out, parsed);
  return true;
}

bool convert_items(PyObject* const* items, Py_ssize_t count, bool optional_elements, Value& out,
                   ParsedArguments& parsed) {
  TensorImpl** tensors = parsed.memory.take<TensorImpl*>(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = items[i];
    Value element;
    if (!(optional_elements && item == Py_None) && !convert_tensor(item, element, parsed)) return false;
    tensors[i] = element.tensor;
    if (element.tensor) parsed.memory.hold(element.tensor);
  }
  out = Value::of(std::span<TensorImpl* const>(tensors, static_cast<size_t>(count)));
  if (optional_elements) out.tag = Tag::OptionalTensorList;
  return true;
}

bool convert_tensors(PyObject* object, bool optional_elements, Value& out, ParsedArguments& parsed) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) {
    if (classify(object) != TensorKind::Overrides) return false;
    out = Value();
    return parsed.overridden = true;
  }
  return convert_items(PySequence_Fast_ITEMS(object), PySequence_Fast_GET_SIZE(object), optional_elements, out, parsed);
}

// Converts variadic tensors, as in block_diag(a, b), to one list.
bool convert_loose_tensors(PyObject* const* args, Py_ssize_t count, Value& out, ParsedArguments& parsed) {
  return convert_items(args, count, false, out, parsed);
}

// Whether an object, or one in a list, is of a class that overrides calls.
bool is_overriding(PyObject* object) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) return classify(object) == TensorKind::Overrides;
  const std::span items(PySequence_Fast_ITEMS(object), static_cast<size_t>(PySequence_Fast_GET_SIZE(object)));
  return std::ranges::any_of(items, [](PyObject* item) { return classify(item) == TensorKind::Overrides; });
}

bool convert_to_type(const Parameter& parameter, PyObject* object, Value& out, ParsedArguments& parsed) {
  switch (parameter.type) {
    case ArgType::Tensor:
      if (parameter.optional && object == Py_None) return out = Value(), true;
      return convert_tensor(object, out, parsed);
    case ArgType::TensorOrScalar:
      if (is_plain_tensor(object)) return convert_tensor(object, out, parsed);
      if (to_plain_number(object, out)) return true;
      if (is_tensor(object)) return convert_tensor(object, out, parsed);
      return to_number_slowly(object, out, parsed.memory) || convert_tensor(object, out, parsed);
    default: break;
  }
  if (object == Py_None && parameter.optional) return out = Value(), true;
  // None means the empty list if that is the default; `out` holds it already.
  if (object == Py_None && parameter.has_default && is_integer_list(parameter.type) && out.length == 0) return true;
  if (!is_plain_tensor(object) && !PyTuple_Check(object) && !PyList_Check(object) && is_tensor(object) &&
      classify_slowly(object) == TensorKind::Overrides) {
    out = Value();
    return parsed.overridden = true;
  }
  switch (parameter.type) {
    case ArgType::Scalar: return to_number(object, out, parsed.memory);
    case ArgType::Int:
    case ArgType::SymInt: {
      int64_t integer;
      if (!to_integer(object, integer)) return false;
      return out = Value::of_int(integer), true;
    }
    case ArgType::Float:
      if (!to_number(object, out, parsed.memory) || out.tag == Tag::Complex || out.tag == Tag::Bool) return false;
      return out = Value::of_float(out.as_double()), true;
    case ArgType::Bool:
      if (PyBool_Check(object)) return out = Value::of_bool(object == Py_True), true;
      return to_number_slowly(object, out, parsed.memory) && out.tag == Tag::Bool;
    case ArgType::IntList:
    case ArgType::SymIntList: return to_integers(object, parameter.list_size, out, parsed.memory);
    case ArgType::FloatList: return to_floats(object, parameter.list_size, out, parsed.memory);
    case ArgType::BoolList: return to_bools(object, out, parsed.memory);
    case ArgType::ScalarList: return to_numbers(object, out, parsed.memory);
    case ArgType::TensorList: return convert_tensors(object, false, out, parsed);
    case ArgType::OptionalTensorList: return convert_tensors(object, true, out, parsed);
    default: return to_handle(parameter.type, object, out);
  }
}

// Numbers may have overriding classes too, such as the proxies of a tracer.
bool convert(const Parameter& parameter, PyObject* object, Value& out, ParsedArguments& parsed) {
  if (convert_to_type(parameter, object, out, parsed)) [[likely]]
    return true;
  if (!is_overriding(object)) return false;
  out = Value();
  return parsed.overridden = true;
}

// Converts variadic integers, as in view(2, 3), to one list.
bool convert_loose_integers(PyObject* const* args, Py_ssize_t count, Value& out, ParsedArguments& parsed) {
  int64_t* integers = parsed.memory.take<int64_t>(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!is_small_integer(args[i], integers[i]) && !to_integer_slowly(args[i], integers[i], PyExc_TypeError)) {
      if (!is_overriding(args[i])) return false;
      parsed.overridden = true;
    }
  return out = Value::of(std::span<const int64_t>(integers, static_cast<size_t>(count))), true;
}

// `out=` is the only output, or a tuple or list of all outputs.
bool convert_outputs(const Signature& signature, PyObject* object, ParsedArguments& parsed, uint32_t& seen) {
  uint32_t outputs = signature.outputs;
  seen |= outputs;
  if (std::popcount(outputs) == 1) {
    const int index = std::countr_zero(outputs);
    return convert(signature.parameters[static_cast<size_t>(index)], object, parsed.values()[index], parsed);
  }
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  if (PySequence_Fast_GET_SIZE(object) != std::popcount(outputs)) return false;
  for (Py_ssize_t i = 0; outputs; ++i, outputs &= outputs - 1) {
    const int index = std::countr_zero(outputs);
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    if (!convert(signature.parameters[static_cast<size_t>(index)], item, parsed.values()[index], parsed)) return false;
  }
  return true;
}

PyObject* out_name() {
  static PyObject* name = PyUnicode_InternFromString("out");
  return name;
}
PyObject* requires_grad_name() {
  static PyObject* name = PyUnicode_InternFromString("requires_grad");
  return name;
}

// Names in a program are interned, and so are ours: then different objects are different names.
bool same_name(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (!a || !b || (PyUnicode_CHECK_INTERNED(a) && PyUnicode_CHECK_INTERNED(b))) return false;
  return PyUnicode_Compare(a, b) == 0;
}

int find_parameter(const Signature& signature, PyObject* name) {
  for (int i = 0; i < signature.num_parameters; ++i)
    if (signature.parameters[static_cast<size_t>(i)].name == name) return i;
  const auto is_this = [&](PyObject* known) { return same_name(known, name); };
  for (int i = 0; i < signature.num_parameters; ++i)
    if (is_this(signature.parameters[static_cast<size_t>(i)].name)) return i;
  for (int i = 0; i < signature.num_parameters; ++i)  // `a` is an output of geqrf, else NumPy's name for an input
    if (std::ranges::any_of(signature.parameters[static_cast<size_t>(i)].aliases, is_this)) return i;
  return -1;
}

const char* const kOptions[] = {"dtype", "layout", "device", "pin_memory", "requires_grad"};

bool is_option(PyObject* name) {
  return std::ranges::any_of(kOptions,
                             [&](const char* option) { return !PyUnicode_CompareWithASCIIString(name, option); });
}

// Whether the op of an out= overload also has a factory overload with options (dtype, device, ...).
bool makes_new_tensors(const OpRecord& op) {
  struct Search {
    const OpRecord& wanted;
    bool found;
  } search{op, false};
  for_each_op(
      [](OpRecord& other, void* context) {
        auto& [wanted, found] = *static_cast<Search*>(context);
        const auto takes = [&](const char* option) {
          return std::ranges::count(other.schema.arguments, option, &Argument::name) != 0;
        };
        found = found ||
                (other.schema.name == wanted.schema.name && takes("dtype") && takes("device") && takes("pin_memory"));
      },
      &search);
  return search.found;
}

// Options given beside out= must agree with the tensor's dtype, layout and device. requires_grad has no effect.
bool agree_with_output(const Signature& signature, PyObject* name, PyObject* object, ParsedArguments& parsed) {
  const TensorImpl& output = *parsed.values()[std::countr_zero(signature.outputs)].tensor;
  const auto is = [&](const char* option) { return !PyUnicode_CompareWithASCIIString(name, option); };
  if (object == Py_None) return true;
  if (is("requires_grad")) parsed.requires_grad = object == Py_True;
  if (is("requires_grad") || is("pin_memory")) return PyBool_Check(object);
  Value value;
  if (!to_handle(is("dtype") ? ArgType::DType : is("device") ? ArgType::Device : ArgType::Layout, object, value))
    return false;
  const bool agrees = is("dtype")    ? static_cast<DType>(value.integer) == output.dtype
                      : is("device") ? decode_device(value.integer).type == output.device.type
                                     : static_cast<Layout>(value.integer) == Layout::Strided;
  if (!agrees)
    raise(ErrorKind::Runtime, "%s(): %s= says otherwise than the tensor out=: leave it out, or give another tensor",
          signature.op->schema.name.c_str(), PyUnicode_AsUTF8(name));
  return true;
}

// Whether a keyword is Python's `out`, for all results. In torch.ops, one of several results may have this name.
bool gives_outputs(const Signature& signature, PyObject* name, PyObject* object) {
  if (!signature.outputs || !same_name(name, out_name())) return false;
  return std::has_single_bit(signature.outputs) || classify(object) == TensorKind::Foreign;
}

bool parse_keywords(const Signature& signature, const PythonArguments& given, ParsedArguments& parsed, uint32_t& seen) {
  std::vector<std::pair<PyObject*, PyObject*>> options;  // a factory's options, given beside out=
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(given.keywords); ++k) {
    PyObject* name = PyTuple_GET_ITEM(given.keywords, k);
    PyObject* object = given.positional[given.count + k];
    if (gives_outputs(signature, name, object)) {
      if (!convert_outputs(signature, object, parsed, seen)) return false;
      continue;
    }
    const int index = find_parameter(signature, name);
    if (index >= 0) {
      if (seen >> index & 1) return false;
      if (!convert(signature.parameters[static_cast<size_t>(index)], object, parsed.values()[index], parsed))
        return false;
      seen |= 1u << index;
    } else if (signature.is_factory && same_name(name, requires_grad_name()) && PyBool_Check(object)) {
      parsed.requires_grad = object == Py_True;
    } else if (signature.outputs && is_option(name) && makes_new_tensors(*signature.op)) {
      options.emplace_back(name, object);
    } else if (object != Py_None || !same_name(name, out_name())) {
      return false;
    }
  }
  if (options.empty() || parsed.overridden) return true;
  const auto agrees = [&](const auto& option) {
    return agree_with_output(signature, option.first, option.second, parsed);
  };
  return (seen & signature.outputs) == signature.outputs && std::ranges::all_of(options, agrees);
}

}  // namespace

void* ArgumentMemory::take_from_heap(size_t bytes) {
  if (!heap_) heap_ = std::make_unique<std::vector<std::unique_ptr<char[]>>>();
  heap_->push_back(std::make_unique<char[]>(bytes));
  return heap_->back().get();
}

void ArgumentMemory::hold(TensorImpl* tensor) {
  tensor->retain();
  if (num_owned_ < static_cast<int>(kInline)) {
    owned_[num_owned_++] = tensor;
    return;
  }
  if (!more_owned_) more_owned_ = std::make_unique<std::vector<Tensor>>();
  more_owned_->push_back(Tensor::adopt(tensor));
}

Signature::Signature(OpRecord& record) : op(&record), body(composite_body(record)) {
  const Schema& schema = record.schema;
  num_parameters = static_cast<uint8_t>(schema.arguments.size());
  num_positional = schema.num_positional;
  num_results = static_cast<uint8_t>(schema.returns.size());
  required = outputs = integer_lists = 0;
  int factory_words = 0;
  for (size_t i = 0; i < schema.arguments.size(); ++i) {
    const Argument& argument = schema.arguments[i];
    parameters.push_back({argument.type, argument.optional, argument.has_default, argument.written, argument.list_size,
                          PyUnicode_InternFromString(argument.name.c_str()), aliases_of(argument.name)});
    defaults.push_back(argument.default_value);
    if (!argument.has_default) required |= 1u << i;
    if (is_integer_list(argument.type)) integer_lists |= 1u << i;
    if (argument.written && argument.keyword_only) outputs |= 1u << i;
    factory_words += argument.name == "dtype" || argument.name == "device" || argument.name == "pin_memory";
  }
  is_factory = factory_words == 3;
  const bool has_self =
      num_positional > 0 && parameters[0].name && PyUnicode_CompareWithASCIIString(parameters[0].name, "self") == 0;
  const size_t first = has_self ? 1 : 0;
  variadic_tensors = record.loose_tensors;
  variadic_ints =
      num_positional == first + 1 && is_integer_list(parameters[first].type) && parameters[first].list_size == 0;
}

bool has_keywords(const Signature& signature, PyObject* keywords) {
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keywords); ++k) {
    PyObject* name = PyTuple_GET_ITEM(keywords, k);
    if (find_parameter(signature, name) >= 0 || same_name(name, out_name())) continue;
    if (signature.is_factory && same_name(name, requires_grad_name())) continue;
    if (!signature.outputs || !is_option(name)) return false;
  }
  return true;
}

bool parse(const Signature& signature, const PythonArguments& given, ParsedArguments& parsed) {
  Value* values = parsed.values();
  const size_t count = signature.num_parameters;
  if (count) std::memcpy(static_cast<void*>(values), signature.defaults.data(), count * sizeof(Value));
  parsed.keys = 0;
  parsed.elements = 0;
  const Parameter* parameters = signature.parameters.data();
  uint32_t seen = 0;
  int next = 0;
  if (given.self) {
    if (!signature.num_parameters || !convert(parameters[0], given.self, values[0], parsed)) return false;
    seen = 1;
    next = 1;
  }
  for (Py_ssize_t i = 0; i < given.count; ++i, ++next) {
    if (next >= signature.num_positional) return false;
    if (signature.variadic_ints && next == signature.num_positional - 1 && !PyTuple_Check(given.positional[i]) &&
        !PyList_Check(given.positional[i])) {
      if (!convert_loose_integers(given.positional + i, given.count - i, values[next], parsed)) return false;
      seen |= 1u << next;
      break;
    }
    if (signature.variadic_tensors && parameters[next].type == ArgType::TensorList &&
        classify(given.positional[i]) != TensorKind::Foreign) {
      if (!convert_loose_tensors(given.positional + i, given.count - i, values[next], parsed)) return false;
      seen |= 1u << next;
      break;
    }
    if (!convert(parameters[next], given.positional[i], values[next], parsed)) return false;
    seen |= 1u << next;
  }
  if (given.keywords && !parse_keywords(signature, given, parsed, seen)) return false;
  if (signature.variadic_tensors && next == signature.num_positional - 1 &&
      !(seen >> next & 1)) {  // no tensors were given
    values[next] = Value::of(std::span<TensorImpl* const>());
    seen |= 1u << next;
  }
  return (signature.required & ~seen) == 0;
}

namespace {

const char* type_phrase(const Parameter& parameter) {
  switch (parameter.type) {
    case ArgType::Tensor: return "Tensor";
    case ArgType::TensorOrScalar: return "Tensor or number";
    case ArgType::TensorList: return "tuple of Tensors";
    case ArgType::OptionalTensorList: return "tuple of Tensors or None";
    case ArgType::Scalar: return "number";
    case ArgType::ScalarList: return "tuple of numbers";
    case ArgType::Int:
    case ArgType::SymInt: return "int";
    case ArgType::Float: return "float";
    case ArgType::Bool: return "bool";
    case ArgType::String: return "str";
    case ArgType::IntList:
    case ArgType::SymIntList: return parameter.list_size ? "int or tuple of ints" : "tuple of ints";
    case ArgType::FloatList: return "tuple of floats";
    case ArgType::BoolList: return "tuple of bools";
    case ArgType::DType: return "dtype";
    case ArgType::Device: return "device";
    case ArgType::Layout: return "layout";
    case ArgType::MemoryFormat: return "memory_format";
    case ArgType::Generator: return "Generator";
    case ArgType::Object: return "object";
  }
  return "object";
}

std::string default_text(const Value& value) {
  switch (value.tag) {
    case Tag::None: return "None";
    case Tag::Bool: return value.integer ? "True" : "False";
    case Tag::Int: return std::to_string(value.integer);
    case Tag::Float: {
      Object number = own(PyFloat_FromDouble(value.number));
      Object text = own(PyObject_Repr(number.get()));
      return PyUnicode_AsUTF8(text.get());
    }
    case Tag::String: return "'" + std::string(value.string, value.length) + "'";
    default: return "...";
  }
}

const char* public_name(const Signature& signature, size_t index, bool as_function) {
  const char* name = PyUnicode_AsUTF8(signature.parameters[index].name);
  return as_function && index == 0 && std::strcmp(name, "self") == 0 ? "input" : name;
}

std::string wrong_type(const Signature& signature, size_t index, int position, PyObject* object, bool as_function) {
  std::string text = signature.op->schema.name + "(): argument '" + public_name(signature, index, as_function) + "'";
  if (position > 0) text += " (position " + std::to_string(position) + ")";
  text += std::string(" must be ") + type_phrase(signature.parameters[index]) + ", not ";
  if ((PyList_Check(object) || PyTuple_Check(object)) && PySequence_Fast_GET_SIZE(object) > 0) {
    return text + Py_TYPE(object)->tp_name + " of " + Py_TYPE(PySequence_Fast_GET_ITEM(object, 0))->tp_name;
  }
  return text + Py_TYPE(object)->tp_name;
}

}  // namespace

std::string Signature::describe(bool as_function) const {
  std::string text = op->schema.name + "(";
  bool keywords_begun = false, first = true;
  for (size_t i = 0; i < num_parameters; ++i) {
    if (i == 0 && !as_function) continue;
    const Parameter& parameter = parameters[i];
    if (outputs >> i & 1) continue;
    if (!first) text += ", ";
    if (i >= num_positional && !std::exchange(keywords_begun, true)) text += "*, ";
    text += std::string(type_phrase(parameter)) + " " + public_name(*this, i, as_function);
    if (parameter.has_default) text += "=" + default_text(defaults[i]);
    first = false;
  }
  if (outputs) text += std::string(first ? "" : ", ") + (keywords_begun ? "" : "*, ") + "Tensor out";
  return text + ")";
}

std::string describe_types(const PythonArguments& given) {
  std::string text = "(";
  const Py_ssize_t named = given.keywords ? PyTuple_GET_SIZE(given.keywords) : 0;
  for (Py_ssize_t i = 0; i < given.count + named; ++i) {
    if (i) text += ", ";
    if (i >= given.count)
      text += std::string(PyUnicode_AsUTF8(PyTuple_GET_ITEM(given.keywords, i - given.count))) + "=";
    text += Py_TYPE(given.positional[i])->tp_name;
  }
  return text + ")";
}

std::string explain_mismatch(const Signature& signature, const PythonArguments& given, bool as_function) {
  const std::string function = signature.op->schema.name + "()";
  const std::string form = "\nform: " + signature.describe(as_function);
  ParsedArguments parsed;
  const int offset = given.self ? 1 : 0;
  const int accepted = signature.num_positional - offset;
  uint32_t seen = given.self ? 1 : 0;
  for (Py_ssize_t k = 0; given.keywords && k < PyTuple_GET_SIZE(given.keywords); ++k) {
    PyObject* name = PyTuple_GET_ITEM(given.keywords, k);
    if (find_parameter(signature, name) < 0 && !(signature.outputs && same_name(name, out_name())))
      return function + " got an unexpected keyword argument '" + PyUnicode_AsUTF8(name) + "'" + form;
  }
  for (Py_ssize_t i = 0; i < given.count; ++i) {
    const size_t index = static_cast<size_t>(i + offset);
    if (index >= signature.num_positional) {
      return function + " takes " + std::to_string(accepted) + " positional arguments but " +
             std::to_string(given.count) + " were given" + form;
    }
    Value value;
    if (!convert(signature.parameters[index], given.positional[i], value, parsed))
      return wrong_type(signature, index, static_cast<int>(i) + 1, given.positional[i], as_function) + form;
    seen |= 1u << index;
  }
  for (Py_ssize_t k = 0; given.keywords && k < PyTuple_GET_SIZE(given.keywords); ++k) {
    PyObject* name = PyTuple_GET_ITEM(given.keywords, k);
    PyObject* object = given.positional[given.count + k];
    if (signature.outputs && same_name(name, out_name())) {
      if (!convert_outputs(signature, object, parsed, seen))
        return function + ": argument 'out' must be " +
               (std::popcount(signature.outputs) == 1 ? "a Tensor" : "a tuple of Tensors, one per result") + form;
      continue;
    }
    const int index = find_parameter(signature, name);
    if (seen >> index & 1) return function + " got two values for argument '" + PyUnicode_AsUTF8(name) + "'" + form;
    Value value;
    if (!convert(signature.parameters[static_cast<size_t>(index)], object, value, parsed))
      return wrong_type(signature, static_cast<size_t>(index), 0, object, as_function) + form;
    seen |= 1u << index;
  }
  const uint32_t missing = signature.required & ~seen;
  if (!missing) return function + " cannot take these arguments: " + describe_types(given) + form;
  const auto index = static_cast<size_t>(std::countr_zero(missing));
  return function + " missing required argument '" + public_name(signature, index, as_function) + "'" + form;
}

}  // namespace pellucid::python
