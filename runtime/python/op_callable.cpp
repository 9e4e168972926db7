#include "python/op_callable.h"

#include "autograd/tensor_history.h"
#include "core/dispatcher.h"
#include "core/hooks.h"
#include "python/call_lines.h"
#include "python/composite_call.h"
#include "python/convert.h"
#include "python/function_protocol.h"
#include "python/overload_sets.h"

namespace pellucid::python {
namespace {

// For ops over more elements, the interpreter lock is released.
constexpr int64_t kReleaseThreshold = 32768;

int64_t requested_elements(const Signature& signature, const Value* values) {
  int64_t most = 0;
  for (uint32_t lists = signature.integer_lists; lists; lists &= lists - 1) {
    const Value& value = values[std::countr_zero(lists)];
    if (value.tag != Tag::IntList) continue;
    int64_t product = 1;
    for (int64_t size : value.ints())
      if (__builtin_mul_overflow(product, size, &product)) return 0;
    most = std::max(most, product);
  }
  return most;
}

[[gnu::noinline]] void dispatch_without_gil(OpCall& call, KeySet keys) {
  ReleaseGil release;
  dispatch(call, keys);
}

[[gnu::always_inline]] inline PyObject* run(const Signature& signature, Value* values, uint64_t keys, int64_t elements,
                                            PreparationRequest* request = nullptr) {
  if (signature.body && runs_body(*signature.op, keys)) return call_body(signature, values);
  Values<kMaxReturns> results(signature.num_results);
  OpCall call{signature.op, values, results.data(), signature.num_parameters, KeySet()};
  if (request) request->call = &call;
  if (elements > kReleaseThreshold) [[unlikely]] {
    dispatch_without_gil(call, KeySet::from_bits(keys));
  } else {
    dispatch(call, KeySet::from_bits(keys));
  }
  if (signature.num_results == 1 && results[0].tag == Tag::Tensor) [[likely]]
    return wrap(Tensor::adopt(results[0].tensor));
  return wrap_results(*signature.op, results.data());
}

// The forms to list in an error: those with `out` if the call has it, else those without.
std::vector<const Signature*> meant_forms(const OverloadSet& set, const PythonArguments& given) {
  bool has_out = false;
  for (Py_ssize_t i = 0; given.keywords && i < PyTuple_GET_SIZE(given.keywords); ++i)
    has_out |= PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(given.keywords, i), "out") == 0;
  std::vector<const Signature*> forms;
  for (const Signature* signature : *set.signatures)
    if ((signature->outputs != 0) == has_out) forms.push_back(signature);
  return forms.empty() ? *set.signatures : forms;
}

[[noreturn, gnu::noinline]] void raise_mismatch(const OverloadSet& set, const PythonArguments& given) {
  const std::vector<const Signature*> forms = meant_forms(set, given);
  if (forms.size() == 1) throw Error(ErrorKind::Type, explain_mismatch(*forms.front(), given, set.as_function));
  constexpr size_t kShown = 6;
  std::string text = *set.name + "() cannot take these arguments: " + describe_types(given) + "\nforms:";
  for (size_t i = 0; i < std::min(forms.size(), kShown); ++i) text += "\n  " + forms[i]->describe(set.as_function);
  if (forms.size() > kShown) text += "\n  and " + std::to_string(forms.size() - kShown) + " more";
  throw Error(ErrorKind::Type, text);
}

// Runs the call and caches its prepared form, or that it cannot be prepared.
PyObject* run_and_cache(OverloadSet& set, const Signature& signature, const PythonArguments& given,
                        ParsedArguments& parsed) {
  auto call = describe_call(given, signature, parsed);
  if (!call) return run_parsed(signature, parsed);
  PreparationRequest request{};
  Object result;
  {
    const PreparationScope scope(request);
    result = Object::steal(run(signature, parsed.values(), parsed.keys, parsed.elements, &request));
  }
  call->prepared = std::move(request.made);
  set.calls->insert(std::move(call));
  return result.leak();
}

PyObject* run_for_subclass(OverloadSet& set, const Signature& signature, ParsedArguments& parsed) {
  Object result;
  {
    const ReadAsPlainTensors scope;
    result = Object::steal(run_parsed(signature, parsed));
  }
  return convert_result(std::move(result), parsed.subclass, set.callable);
}

PyObject* run_matched(OverloadSet& set, const Signature& signature, const PythonArguments& given,
                      ParsedArguments& parsed) {
  if (parsed.overridden) [[unlikely]]
    return call_override(set.callable, given.self, given.positional, given.count, given.keywords);
  return parsed.subclass ? run_for_subclass(set, signature, parsed) : run_parsed(signature, parsed);
}

// torch.add(1, tensor): a number where a pointwise op of several operands expects a tensor.
PyObject* retry_with_numbers(OverloadSet& set, const PythonArguments& given) {
  for (const Signature* signature : *set.signatures) {
    const OpRecord& op = *signature->op;
    if (op.kind != OpKind::Pointwise || std::popcount(op.schema.tensor_arguments) < 2) continue;
    ParsedArguments parsed;
    parsed.numbers_as_tensors = true;
    if (parse(*signature, given, parsed)) return run_matched(set, *signature, given, parsed);
  }
  return nullptr;
}

bool is_number(PyObject* object) { return PyLong_Check(object) || PyFloat_Check(object) || PyComplex_Check(object); }

// x.addcmul_(value, a, b): numbers before the tensors are those passed by name.
PyObject* retry_with_numbers_by_name(OverloadSet& set, const PythonArguments& given) {
  if (given.keywords || given.count == 0 || is_number(given.positional[given.count - 1])) return nullptr;
  std::vector<PyObject*> items, numbers;
  for (Py_ssize_t i = 0; i < given.count; ++i)
    (is_number(given.positional[i]) ? numbers : items).push_back(given.positional[i]);
  if (numbers.empty()) return nullptr;
  const auto num_tensors = static_cast<Py_ssize_t>(items.size());
  items.insert(items.end(), numbers.begin(), numbers.end());
  for (const Signature* signature : *set.signatures) {
    std::vector<PyObject*> names;
    for (size_t i = signature->num_positional; i < signature->num_parameters && names.size() < numbers.size(); ++i)
      if (signature->parameters[i].type == ArgType::Scalar) names.push_back(signature->parameters[i].name);
    if (names.size() < numbers.size()) continue;
    Object keywords = own(PyTuple_New(static_cast<Py_ssize_t>(names.size())));
    for (size_t i = 0; i < names.size(); ++i)
      PyTuple_SET_ITEM(keywords.get(), static_cast<Py_ssize_t>(i), new_reference(names[i]));
    const PythonArguments by_name{given.self, items.data(), num_tensors, keywords.get()};
    ParsedArguments parsed;
    if (!parse(*signature, by_name, parsed)) continue;
    warn("%s(): numbers before the tensors are the order of old programs; pass them by name: %s", set.name->c_str(),
         signature->describe(set.as_function).c_str());
    return run_matched(set, *signature, by_name, parsed);
  }
  return nullptr;
}

PyObject* run_unary(const Signature& signature, TensorImpl& operand) {
  Values<kMaxArguments> values(0);
  for (size_t i = 1; i < signature.num_parameters; ++i) values[i] = signature.defaults[i];
  values[0] = Value::of(&operand);
  return run(signature, values.data(), operand.keys.bits(), operand.numel);
}

PyObject* run_binary(const Signature& signature, TensorImpl& left, const Value& right, uint64_t right_keys,
                     int64_t right_elements) {
  Values<kMaxArguments> values(0);
  for (size_t i = 2; i < signature.num_parameters; ++i) values[i] = signature.defaults[i];
  values[0] = Value::of(&left);
  values[1] = right;
  return run(signature, values.data(), left.keys.bits() | right_keys, left.numel + right_elements);
}

// Whether an argument of a direct call overrides it.
bool is_overridden(TensorKind kind, PyObject* object) {
  return kind == TensorKind::Overrides && !inherits_default_protocol(Py_TYPE(object));
}

// Runs a call with only tensors and numbers, without parsing. Null if it is not such a call.
PyObject* run_direct(const OverloadSet& set, const PythonArguments& given) {
  PyObject* const* rest = given.positional;
  Py_ssize_t count = given.count;
  PyObject* first = given.self;
  if (!first && count) {
    first = *rest++;
    --count;
  }
  if (!first || given.keywords || count > 1) return nullptr;
  const TensorKind first_kind = classify(first);
  const TensorKind second_kind = count ? classify(*rest) : TensorKind::Tensor;
  const Signature* of_tensors = count ? set.of_tensors : set.of_tensor;
  if (first_kind != TensorKind::Tensor || second_kind == TensorKind::Overrides) {
    const bool overridden = is_overridden(first_kind, first) || (count && is_overridden(second_kind, *rest));
    const bool fits = of_tensors && first_kind != TensorKind::Foreign && second_kind != TensorKind::Foreign;
    return overridden && fits ? call_override(set.callable, given.self, given.positional, given.count, nullptr)
                              : nullptr;
  }
  TensorImpl& left = *tensor_of(first);
  if (count == 0) return of_tensors ? run_unary(*of_tensors, left) : nullptr;
  Value number;
  if (second_kind == TensorKind::Tensor) {
    TensorImpl& right = *tensor_of(*rest);
    return of_tensors ? run_binary(*of_tensors, left, Value::of(&right), right.keys.bits(), right.numel) : nullptr;
  }
  if (!set.of_tensor_and_number || !to_plain_number(*rest, number)) return nullptr;
  return run_binary(*set.of_tensor_and_number, left, number, 0, 0);
}

}  // namespace

PyObject* run_parsed(const Signature& signature, ParsedArguments& parsed) {
  int64_t elements = parsed.elements;
  if (!parsed.keys) elements = requested_elements(signature, parsed.values());
  Object result = Object::steal(run(signature, parsed.values(), parsed.keys, elements));
  if (parsed.requires_grad) set_requires_grad_checked(*tensor_of(result.get()), true);
  return result.leak();
}

PyObject* call_inside(OverloadSet& set, const PythonArguments& given) {
  const Signature& signature = *set.signatures->front();
  if (!signature.body) return new_reference(Py_NotImplemented);
  ParsedArguments parsed;
  if (!parse(signature, given, parsed)) raise_mismatch(set, given);
  return call_body(signature, parsed.values());
}

PyObject* choose_overload(OverloadSet& set, const PythonArguments& given, bool wanted, bool* mismatch) {
  note_line();
  if (function_modes_active()) [[unlikely]]
    return call_override(set.callable, given.self, given.positional, given.count, given.keywords);
  if (!wanted)
    if (PyObject* result = run_direct(set, given)) return result;
  const bool is_chosen_by_words = given.keywords && set.signatures->size() > 1;
  for (const Signature* signature : *set.signatures) {
    if (is_chosen_by_words && !has_keywords(*signature, given.keywords)) continue;
    ParsedArguments parsed;
    if (!parse(*signature, given, parsed)) continue;
    const bool is_plain = !parsed.overridden && !parsed.subclass;
    if (wanted && is_plain) return run_and_cache(set, *signature, given, parsed);
    return run_matched(set, *signature, given, parsed);
  }
  if (add_late_overloads(set)) return choose_overload(set, given, wanted, mismatch);
  if (PyObject* result = retry_with_numbers(set, given)) return result;
  if (PyObject* result = retry_with_numbers_by_name(set, given)) return result;
  if (mismatch) {
    *mismatch = true;
    return nullptr;
  }
  raise_mismatch(set, given);
}

}  // namespace pellucid::python
