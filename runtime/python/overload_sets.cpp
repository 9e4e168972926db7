#include "python/overload_sets.h"

#include <map>
#include <unordered_map>

#include "core/dispatcher.h"
#include "ops/documentation.h"
#include "ops/late_ops.h"
#include "python/composite_call.h"
#include "python/method_entries.h"
#include "python/tensor_type.h"

namespace pellucid::python {
namespace {

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

}  // namespace

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

namespace {

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
