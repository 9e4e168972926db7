#include "python/dispatch_protocol.h"

#include <algorithm>

#include "core/dispatcher.h"
#include "core/inline_vector.h"
#include "ops/late_ops.h"
#include "python/boundary.h"
#include "python/boxing.h"
#include "python/convert.h"
#include "python/function_protocol.h"
#include "python/mode_stack.h"
#include "python/op_overload.h"
#include "python/part_calls.h"
#include "python/protocol_call.h"
#include "python/shown_overload.h"
#include "python/tensor_type.h"

namespace pellucid::python {
namespace {

// The keys above PythonDispatch. They are excluded while a handler runs: the op itself is recorded already.
constexpr KeySet kAbove = KeySet(Key::Autograd) | Key::ViewInPlace;

PyObject* protocol_name = nullptr;

PyObject* decompose_derivative() {
  static LateImport function("pellucid._decomp", "decompose_derivative");
  return function.get();
}

ModeStack& mode_stack() {
  static thread_local ModeStack stack __attribute__((tls_model("initial-exec"))) ([](const ModeStack& modes, int) {
    KeySet& include = thread_state.include;
    include = modes.empty() ? include - kWatched : include | kWatched;
  });
  return stack;
}

PyObject* own_implementation = nullptr;  // Tensor's

// Null for classes that do not override __torch_dispatch__.
PyObject* find_protocol(PyTypeObject* type) {
  PyObject* found = _PyType_Lookup(type, protocol_name);
  return found == own_implementation ? nullptr : found;
}

// The classes of arguments that define __torch_dispatch__, subclasses before their bases.
class Overriding {
 public:
  explicit Overriding(const OpCall& call) {
    for (uint32_t mask = call.op->schema.tensor_arguments; mask; mask &= mask - 1) {
      const Value& value = call.args[std::countr_zero(mask)];
      if (value.tag == Tag::Tensor) add(*value.tensor);
      else if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList)
        for (TensorImpl* tensor : value.list())
          if (tensor) add(*tensor);
    }
  }

  const InlineVector<PyTypeObject*, 8>& types() const { return types_; }
  Object as_tuple() const {
    Object tuple = own(PyTuple_New(static_cast<Py_ssize_t>(types_.size())));
    for (size_t i = 0; i < types_.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), new_reference(reinterpret_cast<PyObject*>(types_[i])));
    return tuple;
  }

 private:
  void add(TensorImpl& tensor) {
    if (!tensor.keys.has(Key::PythonDispatch) || !tensor.python) return;
    PyTypeObject* type = Py_TYPE(static_cast<PyObject*>(tensor.python));
    if (!find_protocol(type) || std::find(types_.begin(), types_.end(), type) != types_.end()) return;
    const auto before =
        std::find_if(types_.begin(), types_.end(), [&](PyTypeObject* other) { return PyType_IsSubtype(type, other); });
    types_.insert(before, type);
  }

  InlineVector<PyTypeObject*, 8> types_;
};

}  // namespace

bool share_written(OpCall& call) {
  if (call.op->variant == Variant::Functional) return false;
  const Schema& schema = call.op->schema;
  size_t next = 0;
  for (size_t i = 0; i < schema.arguments.size() && next < schema.returns.size(); ++i)
    if (schema.arguments[i].written && schema.returns[next].written && call.args[i].tag == Tag::Tensor)
      call.rets[next++] = Value::of(Tensor::share(call.args[i].tensor).leak());
  return next > 0;
}

bool returns_written(OpCall& call) {
  if (!share_written(call)) return false;
  for (size_t i = 0; i < call.op->schema.returns.size(); ++i)
    if (call.rets[i].tag == Tag::Tensor && call.rets[i].tensor->keys.has(Key::PythonDispatch))
      call.rets[i].tensor->bump_version();
  return true;
}

namespace {

void take_result(OpCall& call, PyObject* returned) {
  if (!returns_written(call)) unpack_results(call, returned);
}

[[noreturn]] void raise_declined(const OpCall& call, PyObject* types) {
  Object text = own(PyObject_Repr(types));
  raise(ErrorKind::Type, "no __torch_dispatch__ takes %s: the modes and the classes %s returned NotImplemented",
        call.op->qualified_name.c_str(), PyUnicode_AsUTF8(text.get()));
}

// (overload, class of a mode or of tensors) -> the function that replaces its __torch_dispatch__. Null until the first
// is registered.
PyObject* dispatch_rules = nullptr;

// Borrowed; null if the class's own method is called.
PyObject* rule_of(PyObject* overload, PyObject* owner) {
  PyObject* type = PyType_Check(owner) ? owner : reinterpret_cast<PyObject*>(Py_TYPE(owner));
  Object key = own(PyTuple_Pack(2, overload, type));
  PyObject* found = PyDict_GetItemWithError(dispatch_rules, key.get());
  if (!found && PyErr_Occurred()) raise_python();
  return found;
}

// Whether `owner` handled the call.
bool is_taken(OpCall& call, PyObject* owner, const AskedCall& given) {
  const Object result = ask(call, owner, given);
  if (result) take_result(call, result.get());
  return static_cast<bool>(result);
}

// The kernel of an op at the Decompose key: a Python function that calls the ops of the op's decomposition. If it
// returns NotImplemented, the op itself is dispatched.
void run_decomposition(OpCall& call, void* context) {
  HoldGil gil;
  Object returned;
  {
    const ReadAsPlainTensors scope;
    Object positional, keywords;
    pack_arguments(call, positional, keywords);
    returned = own(PyObject_Call(static_cast<PyObject*>(context), positional.get(), keywords.get()));
  }
  if (returned.get() != Py_NotImplemented) return unpack_results(call, returned.get());
  ExcludeKeys below{Key::Decompose};
  dispatch(call, call.keys);
}

// Whether the call needs a gradient that Autograd did not record. That happens for late ops, which have no nodes.
bool is_unrecorded(const OpCall& call) {
  if (call.op->registered.has(Key::Autograd) || !thread_state.grad_mode) return false;
  return (gather_keys(call) - thread_state.exclude).has(Key::Autograd) && is_late(*call.op);
}

// Runs the op as the ops that it calls, each of which is dispatched to modes and recorded.
void run_seen_inside(OpCall& call) {
  call.keys = call.keys - kWatched;
  const KernelEntry& entry = call.op->table[static_cast<int>(call.keys.highest())];
  entry.function(call, entry.context);
}

void ask_python(OpCall& call);

// The fallback of every op at the PythonDispatch key.
void dispatch_to_python(OpCall& call, void*) {
  HoldGil gil;
  if (is_watched(kWatchNotes) || !mode_stack().empty() || !has_parts(call)) return ask_python(call);
  PartCall parts(object_parts(), call);
  if (parts.run(call)) return;
  const RepeatRequest request;
  ask_python(call);
  if (PyObject* given = request.given()) parts.remember(call, given);
}

void ask_python(OpCall& call) {
  const Overriding overriding(call);
  const bool has_modes = !mode_stack().empty();
  if (!has_modes && overriding.types().empty()) {  // a tensor that has the key but no object of the class
    ExcludeKeys below(kWatched);
    return dispatch(call, call.keys);
  }
  if (decomposed_derivative(call, mode_stack().innermost())) return;
  const bool is_to_record = is_unrecorded(call);
  if (is_to_record && !overriding.types().empty()) return run_seen_inside(call);
  ExcludeKeys above(is_to_record ? KeySet() : kAbove);
  Object types = overriding.as_tuple();
  Object args, kwargs;
  pack_given_arguments(call, args, kwargs);
  const AskedCall given{types.get(), args.get(), kwargs.get()};
  if (has_modes) {
    const RunningMode mode(mode_stack());  // the mode's own calls go to the outer modes
    if (is_taken(call, mode.get(), given)) return;
  }
  for (PyTypeObject* type : overriding.types())
    if (is_taken(call, reinterpret_cast<PyObject*>(type), given)) return;
  raise_declined(call, types.get());
}

// Tensor's own __torch_dispatch__: runs the op on the tensors' memory.
PyObject* default_implementation(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *function, *types, *arguments = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTuple(args, "OO|OO:__torch_dispatch__", &function, &types, &arguments, &kwargs)) return nullptr;
    Object positional = arguments ? Object::borrow(arguments) : own(PyTuple_New(0));
    ExcludeKeys below(kWatched);
    return PyObject_Call(function, positional.get(), kwargs == Py_None ? nullptr : kwargs);
  });
}

PyObject* push_mode(PyObject*, PyObject* mode) {
  return guarded([&] {
    pass_boundary("a dispatch mode");
    decompose_derivative();
    mode_stack().put(new_reference(mode));
    return none();
  });
}

PyObject* pop_mode(PyObject*, PyObject*) {
  return guarded([&] {
    if (mode_stack().empty()) raise(ErrorKind::Runtime, "no dispatch mode is active");
    return mode_stack().take();
  });
}

PyObject* list_modes(PyObject*, PyObject*) {
  return guarded([] { return mode_stack().as_list(); });
}

// _exclude_torch_dispatch(bool): whether it was excluded before.
PyObject* exclude_dispatch(PyObject*, PyObject* wanted) {
  KeySet& exclude = thread_state.exclude;
  const bool before = exclude.has(Key::PythonDispatch);
  exclude = wanted == Py_True ? exclude | kSeen : exclude - kSeen;
  return PyBool_FromLong(before);
}

// _register_decomposition(name, function)
PyObject* register_decomposition(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    PyObject* function;
    if (!PyArg_ParseTuple(args, "sO:_register_decomposition", &name, &function)) return nullptr;
    OpRecord* op = find_op(name);
    if (!op) raise(ErrorKind::Runtime, "there is no op %s to decompose", name);
    register_kernel(*op, Key::Decompose, {run_decomposition, new_reference(function)}, /*replace=*/true);
    return none();
  });
}

// _register_dispatch_rule(name, class, function)
PyObject* register_dispatch_rule(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char* name;
    PyObject *type, *function;
    if (!PyArg_ParseTuple(args, "sO!O:_register_dispatch_rule", &name, &PyType_Type, &type, &function)) return nullptr;
    OpRecord* op = find_op(name);
    if (!op) raise(ErrorKind::Runtime, "there is no op %s to give a rule for", name);
    if (!dispatch_rules) dispatch_rules = checked(PyDict_New());
    Object key = own(PyTuple_Pack(2, overload_object(*op), type));
    checked(PyDict_SetItem(dispatch_rules, key.get(), function));
    return none();
  });
}

PyMethodDef tensor_methods[] = {
    {"__torch_dispatch__", default_implementation, METH_VARARGS | METH_CLASS,
     "__torch_dispatch__(cls, func, types, args=(), kwargs=None): how subclasses see ops, below autograd."},
    {},
};

PyMethodDef functions[] = {
    {"_push_torch_dispatch_mode", push_mode, METH_O, "Makes a mode the innermost one of this thread."},
    {"_pop_torch_dispatch_mode", pop_mode, METH_NOARGS, "Removes the innermost mode and returns it."},
    {"_torch_dispatch_modes", list_modes, METH_NOARGS, "The modes in force in this thread, the innermost last."},
    {"_register_decomposition", register_decomposition, METH_VARARGS,
     "_register_decomposition(name, function): what __torch_dispatch__ sees in place of an op."},
    {"_register_dispatch_rule", register_dispatch_rule, METH_VARARGS,
     "_register_dispatch_rule(name, class, function): what replaces the class's __torch_dispatch__ at an op."},
    {"_exclude_torch_dispatch", exclude_dispatch, METH_O,
     "Sets whether this thread's ops skip __torch_dispatch__; returns the previous value."},
    {},
};

}  // namespace

Object ask(const OpCall& call, PyObject* owner, const AskedCall& given) {
  PyObject* const arguments[] = {owner, overload_object(shown_overload(call)), given.types, given.args, given.kwargs};
  const Object rule = dispatch_rules ? Object::borrow(rule_of(arguments[1], owner)) : Object();
  Object result =
      rule ? own(PyObject_Vectorcall(rule.get(), arguments, 5, nullptr)) : call_protocol(protocol_name, arguments);
  return result.get() == Py_NotImplemented ? Object() : std::move(result);
}

Object overriding_classes(const OpCall& call) { return Overriding(call).as_tuple(); }

bool decomposed_derivative(OpCall& call, PyObject* mode) {
  if (!call.op->qualified_name.starts_with("derivative::")) return false;
  const ReadAsPlainTensors scope;
  Object positional, keywords;
  pack_arguments(call, positional, keywords);
  PyObject* arguments[] = {overload_object(*call.op), positional.get(), mode ? mode : Py_None};
  Object returned = own(PyObject_Vectorcall(decompose_derivative(), arguments, 3, nullptr));
  if (returned.get() == Py_NotImplemented) return false;
  unpack_results(call, returned.get());
  return true;
}

void prepare_decompositions() { decompose_derivative(); }

bool defines_dispatch(PyTypeObject* type) { return find_protocol(type) != nullptr; }

void mark_dispatched(PyTypeObject* type, TensorImpl& tensor) {
  if (!find_protocol(type)) return;
  decompose_derivative();
  tensor.keys = tensor.keys | kWatched;
}

void add_dispatch_protocol(PyObject* module) {
  protocol_name = checked(PyUnicode_InternFromString("__torch_dispatch__"));
  add_tensor_methods(tensor_methods);
  own_implementation = new_reference(_PyType_Lookup(&tensor_base_type, protocol_name));
  checked(PyModule_AddFunctions(module, functions));
  register_fallback(Key::PythonDispatch, {dispatch_to_python, nullptr});
}

}  // namespace pellucid::python
