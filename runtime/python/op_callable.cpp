#include "python/op_callable.h"

#include <map>
#include <unordered_map>

#include "autograd/tensor_history.h"
#include "core/dispatcher.h"
#include "core/hooks.h"
#include "ops/documentation.h"
#include "ops/late_ops.h"
#include "python/call_lines.h"
#include "python/composite_call.h"
#include "python/convert.h"
#include "python/function_protocol.h"
#include "python/method_entries.h"
#include "python/tensor_type.h"

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

// Whether exactly the first `count` arguments are required.
bool requires_first(const Signature& signature, int count) {
  const bool takes_tensor = signature.num_parameters && signature.parameters[0].type == ArgType::Tensor;
  return takes_tensor && !signature.outputs && signature.required == (1u << count) - 1;
}

// Stores the overload as the direct form for its numbers of tensors and numbers, unless an earlier overload takes
// these.
void note_direct_forms(OverloadSet& set, const Signature& signature) {
  if (!set.of_tensor && requires_first(signature, 1)) set.of_tensor = &signature;
  bool tensor_is_free = !set.of_tensors, number_is_free = !set.of_tensor_and_number;
  for (const Signature* earlier : *set.signatures) {
    if (earlier->num_positional < 2) continue;
    tensor_is_free = false;
    number_is_free &= earlier->parameters[1].type == ArgType::Tensor;
  }
  if (!requires_first(signature, 2)) return;
  const ArgType second = signature.parameters[1].type;
  const bool both = second == ArgType::TensorOrScalar;
  if (tensor_is_free && (both || second == ArgType::Tensor)) set.of_tensors = &signature;
  if (number_is_free && (both || second == ArgType::Scalar)) set.of_tensor_and_number = &signature;
}

// Whether the handler can prepare calls: the handlers of pointwise ops, plans, joins and intrinsics can.
bool prepares_calls(const Signature& signature) {
  if (signature.body) return false;
  switch (signature.op->kind) {
    case OpKind::Library:
    case OpKind::Random:
    case OpKind::Foreach:
    case OpKind::DataDependent: return false;
    default: return true;
  }
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

// ------------------------------------------------------------------------- the registry of sets

void deallocate_set(PyObject* self) {
  auto& set = *reinterpret_cast<OverloadSet*>(self);
  delete set.name;
  delete set.signatures;
  delete set.calls;
  Py_CLEAR(set.callable);
  Py_TYPE(self)->tp_free(self);
}

PyObject* set_name(PyObject* self, void*) {
  const std::string& name = *reinterpret_cast<OverloadSet*>(self)->name;
  return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
}

bool add_late_overloads(OverloadSet& set);

PyObject* set_overloads(PyObject* self, void*) {
  return guarded([&] {
    add_late_overloads(*reinterpret_cast<OverloadSet*>(self));
    Object list = own(PyList_New(0));
    for (const Signature* signature : *reinterpret_cast<OverloadSet*>(self)->signatures)
      checked(PyList_Append(list.get(), to_string(signature->op->schema.text).get()));
    return list.leak();
  });
}

PyGetSetDef set_attributes[] = {
    {"__name__", set_name, nullptr, nullptr, nullptr},
    {"schemas", set_overloads, nullptr, "The schemas of the overloads, in the order in which they are tried.", nullptr},
    {},
};

PyTypeObject overload_set_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

struct Registry {
  std::unordered_map<const OpRecord*, std::unique_ptr<Signature>> signatures;
  std::map<std::string, OverloadSet*, std::less<>> methods;
  std::map<std::string, std::map<std::string, OverloadSet*, std::less<>>, std::less<>> functions;
};
Registry& registry() {
  static auto* made = new Registry;
  return *made;
}

OverloadSet* make_set(const std::string& name, bool as_function) {
  auto* set = reinterpret_cast<OverloadSet*>(checked(overload_set_type.tp_alloc(&overload_set_type, 0)));
  set->name = new std::string(name);
  set->signatures = new std::vector<const Signature*>;
  set->as_function = as_function;
  return set;
}

const Signature* signature_of(OpRecord& op) {
  auto& slot = registry().signatures[&op];
  if (!slot) {
    keep_op_forever(op);
    slot = std::make_unique<Signature>(op);
  }
  return slot.get();
}

void add_overload(OverloadSet*& set, OpRecord& op, bool as_function) {
  if (!set) set = make_set(op.schema.name, as_function);
  const Signature* signature = signature_of(op);
  note_direct_forms(*set, *signature);
  if (!set->calls && prepares_calls(*signature)) set->calls = new InlineCache;
  set->signatures->push_back(signature);
}

// Defines the late overloads of the set's op, which are tried after the existing ones. False if there are none.
bool add_late_overloads(OverloadSet& set) {
  if (!set.late) return false;
  const char* late = std::exchange(set.late, nullptr);
  const std::string prefix = qualified_name(late);
  define_late_ops(late);
  struct Search {
    OverloadSet* set;
    const std::string& prefix;
  } search{&set, prefix};
  for_each_op(
      [](OpRecord& op, void* context) {
        auto& [wanted, name] = *static_cast<Search*>(context);
        const bool is_bound = wanted->as_function ? op.is_function : op.is_method && op.variant != Variant::Out;
        if (!is_bound || op.qualified_name.compare(0, op.qualified_name.find('.'), name) != 0) return;
        const auto is_this = [&](const Signature* known) { return known->op == &op; };
        if (std::ranges::none_of(*wanted->signatures, is_this)) add_overload(wanted, op, wanted->as_function);
      },
      &search);
  return true;
}

// Makes the set of a name whose overloads are late, or of an alias of another op's late overloads.
void bind_late(OverloadSet*& set, const OverloadSet* original, const LateBinding& binding, bool as_function) {
  if (!set) set = make_set(std::string(binding.name), as_function);
  if (original) {
    for (const Signature* signature : *original->signatures) add_overload(set, *signature->op, as_function);
    set->late = original->late;
  }
  if (binding.original.empty()) set->late = strndup(binding.name.data(), binding.name.size());  // lives forever
}

void bind_late_ops() {
  Registry& all = registry();
  for (const bool aliases : {false, true})  // aliases last: their originals must exist
    for (const LateBinding& binding : late_bindings()) {
      if (binding.original.empty() == aliases) continue;
      const std::string name(binding.name);
      const size_t dot = binding.original.find_last_of('.');  // "linalg.linalg_norm": module and name
      const auto module = binding.original.substr(0, dot), original = binding.original.substr(dot + 1);
      if (binding.is_method) bind_late(all.methods[name], aliases ? find_method(original) : nullptr, binding, false);
      if (!binding.is_function) continue;
      OverloadSet*& set = all.functions[std::string(binding.python_module)][name];
      OverloadSet* named = aliases ? find_function(module, original) : nullptr;
      if (named && original == name && module != binding.python_module)
        set = named;  // the function itself, in a second module
      else bind_late(set, named, binding, true);
    }
}

void visit_op(OpRecord& op, void*) {
  if (op.is_function) add_overload(registry().functions[op.python_module][op.schema.name], op, true);
  if (op.is_method && op.variant != Variant::Out) add_overload(registry().methods[op.schema.name], op, false);
}

PyObject* call_function(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  auto& set = *reinterpret_cast<OverloadSet*>(self);
  return guarded([&]() -> PyObject* { return call_overloads(set, {nullptr, args, count, keywords}); });
}

// The module in which pickle finds a function by the name of its op (linalg_norm): as in PyTorch, not the public one.
const char* module_name(const std::string& python_module, std::string& storage) {
  storage = "pellucid";
  if (!python_module.empty()) storage += "._C._" + python_module;
  return storage.c_str();
}

// The op whose documentation a function has: without namespace for PyTorch's ops, else the full name.
std::string documented_name(const OverloadSet& set) {
  if (set.signatures->empty() || set.signatures->front()->op->schema.name != *set.name) return *set.name;
  const std::string_view name = short_name(set.signatures->front()->op->qualified_name);
  return std::string(name.substr(0, name.find('.')));
}

PyObject* make_function(OverloadSet& set, const std::string& python_module) {
  if (set.callable) return set.callable;  // made for the first module that has it
  set.definition = {set.name->c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_function)),
                    METH_FASTCALL | METH_KEYWORDS, op_texts(documented_name(set)).function};
  std::string storage;
  Object module = own(PyUnicode_InternFromString(module_name(python_module, storage)));
  set.callable = checked(PyCFunction_NewEx(&set.definition, reinterpret_cast<PyObject*>(&set), module.get()));
  return set.callable;
}

void make_method(OverloadSet& set) {
  const char* text = op_texts(*set.name).method;
  set.definition = {set.name->c_str(), take_method_entry(set), METH_FASTCALL | METH_KEYWORDS, text};
  set.callable = checked(PyDescr_NewMethod(&tensor_base_type, &set.definition));
}

// _bind_ops(): makes methods on TensorBase and returns {module: {name: function}}.
PyObject* bind_ops(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    Registry& all = registry();
    for_each_op(visit_op, nullptr);
    bind_late_ops();
    for (auto& [name, set] : all.methods) {
      make_method(*set);
      checked(PyDict_SetItemString(tensor_base_type.tp_dict, name.c_str(), set->callable));
    }
    PyType_Modified(&tensor_base_type);
    bind_operators();
    Object modules = own(PyDict_New());
    for (auto& [module, sets] : all.functions) {
      Object functions = own(PyDict_New());
      for (auto& [name, set] : sets)
        checked(PyDict_SetItemString(functions.get(), name.c_str(), make_function(*set, module)));
      checked(PyDict_SetItemString(modules.get(), module.c_str(), functions.get()));
    }
    return modules.leak();
  });
}

// _op_named("add.Tensor"): a callable of one overload. Never freed, like op records.
PyObject* op_named(PyObject*, PyObject* name) {
  return guarded([&]() -> PyObject* {
    const char* text = PyUnicode_AsUTF8(name);
    if (!text) raise_python();
    OpRecord* op = find_op(text);
    if (!op) raise(ErrorKind::Type, "there is no op overload named %s", text);
    OverloadSet* set = nullptr;
    add_overload(set, *op, true);
    return make_function(*set, "");
  });
}

PyMethodDef functions[] = {
    {"_op_named", op_named, METH_O, "The callable of one op overload, by its full name."},
    {"_bind_ops", bind_ops, METH_NOARGS,
     "Makes the callables of all ops: {module: {name: function}}; methods join TensorBase."},
    {},
};

// Pickle reduces a function to its set and its name; the set is represented by the module that has the function.
PyObject* reduce_set(PyObject* self, PyObject*) {
  return guarded([&] {
    auto& set = *reinterpret_cast<OverloadSet*>(self);
    Object home = own(PyObject_GetAttrString(set.callable, "__module__"));
    Object importlib = own(PyImport_ImportModule("importlib"));
    Object import_module = own(PyObject_GetAttrString(importlib.get(), "import_module"));
    return checked(Py_BuildValue("(O(O))", import_module.get(), home.get()));
  });
}

PyMethodDef set_methods[] = {
    {"__reduce__", reduce_set, METH_NOARGS, "How pickle finds the function again."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* run_parsed(const Signature& signature, ParsedArguments& parsed) {
  int64_t elements = parsed.elements;
  if (!parsed.keys) elements = requested_elements(signature, parsed.values());
  Object result = Object::steal(run(signature, parsed.values(), parsed.keys, elements));
  if (parsed.requires_grad) set_requires_grad_checked(*tensor_of(result.get()), true);
  return result.leak();
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

OverloadSet* find_method(std::string_view name) {
  const auto found = registry().methods.find(name);
  return found == registry().methods.end() ? nullptr : found->second;
}

OverloadSet* find_function(std::string_view python_module, std::string_view name) {
  const auto module = registry().functions.find(python_module);
  if (module == registry().functions.end()) return nullptr;
  const auto found = module->second.find(name);
  return found == module->second.end() ? nullptr : found->second;
}

OverloadSet* overload_set(OpRecord& op) {
  OverloadSet* set = nullptr;
  add_overload(set, op, false);
  return set;
}

void add_op_callables(PyObject* module) {
  install_composites();
  overload_set_type.tp_name = "pellucid._C.OverloadSet";
  overload_set_type.tp_doc = "The overloads of one op name.";
  overload_set_type.tp_basicsize = sizeof(OverloadSet);
  overload_set_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  overload_set_type.tp_dealloc = deallocate_set;
  overload_set_type.tp_getset = set_attributes;
  overload_set_type.tp_methods = set_methods;
  checked(PyType_Ready(&overload_set_type));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
