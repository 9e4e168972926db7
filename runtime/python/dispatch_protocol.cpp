#include "python/dispatch_protocol.h"
#include "python/boundary.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "core/dispatcher.h"
#include "core/format.h"
#include "core/hooks.h"
#include "core/inline_vector.h"
#include "core/kind.h"
#include "core/layout.h"
#include "ops/call_log.h"
#include "ops/derivation.h"
#include "ops/late_ops.h"
#include "ops/op_table.h"
#include "python/arguments.h"
#include "python/boxing.h"
#include "python/convert.h"
#include "python/function_protocol.h"
#include "python/mode_stack.h"
#include "python/op_overload.h"
#include "python/part_calls.h"
#include "python/protocol_call.h"
#include "python/tensor_type.h"
#include "transforms/wrapper.h"

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

// Whether `form` has a number parameter exactly where the call has a number.
bool says_numbers(const OpRecord& form, const OpCall& call) {
  const auto &declared = call.op->schema.arguments, &said = form.schema.arguments;
  if (form.schema.name != call.op->schema.name || said.size() != declared.size()) return false;
  for (size_t i = 0; i < said.size(); ++i) {
    const bool is_number = declared[i].type == ArgType::TensorOrScalar && call.args[i].tag != Tag::Tensor;
    const bool fits = is_number ? said[i].type == ArgType::Scalar
                                : said[i].type == declared[i].type ||
                                      (declared[i].type == ArgType::TensorOrScalar && said[i].type == ArgType::Tensor);
    if (!fits || said[i].name != declared[i].name) return false;
  }
  return true;
}

// The overload that modes see: the one for numbers (`gt.Scalar` rather than `gt.Tensor`) if the call has a number and
// the declaration says so.
const OpRecord& shown_overload(const OpCall& call) {
  static const auto* having = [] {
    auto* made = new std::unordered_set<std::string_view>;
    for (const SeenOp& seen : seen_ops())
      if (seen.numbers) made->insert(seen.op.substr(0, seen.op.find('.')));
    return made;
  }();
  const auto& declared = call.op->schema.arguments;
  uint64_t numbers = 0;  // a bit per argument that is a number where a tensor is permitted
  for (size_t i = 0; i < declared.size(); ++i)
    if (declared[i].type == ArgType::TensorOrScalar && call.args[i].tag != Tag::Tensor) numbers |= uint64_t{1} << i;
  if (!numbers) return *call.op;
  std::string_view name = call.op->schema.name;
  if (call.op->variant == Variant::InPlace) name.remove_suffix(1);
  if (!having->contains(name)) return *call.op;
  static auto* forms = new std::map<std::pair<const OpRecord*, uint64_t>, const OpRecord*>;  // under the GIL
  const auto [place, is_new] = forms->try_emplace({call.op, numbers}, call.op);
  if (is_new) {
    struct Search {
      const OpCall& call;
      const OpRecord*& found;
    } search{call, place->second};
    define_missing_ops(call.op->schema.name);
    for_each_op(
        [](OpRecord& op, void* context) {
          auto& [given, found] = *static_cast<Search*>(context);
          if (op.schema.name_space == given.op->schema.name_space && says_numbers(op, given)) found = &op;
        },
        &search);
  }
  return *place->second;
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
  if (is_logging_calls() || !mode_stack().empty() || !has_parts(call)) return ask_python(call);
  PartCall parts(object_parts(), call);
  if (parts.run(call)) return;
  const RepeatRequest request;
  ask_python(call);
  if (PyObject* moves = request.moves()) parts.remember(call, moves);
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

// Called by TensorImpl::data(): a transform's tensor has the memory of the wrapped one, a wrapper subclass has none.
void find_memory_or_refuse(TensorImpl& tensor) {
  if (tensor.wrapper) return find_memory(tensor);
  if (kind_of(tensor)) raise_without_memory(tensor);
  if (core_hooks.find_recorded && core_hooks.find_recorded(tensor)) return;
  const char* type = tensor.python ? Py_TYPE(static_cast<PyObject*>(tensor.python))->tp_name : "tensor subclass";
  raise(ErrorKind::Runtime,
        "a %s of shape %s was made by _make_wrapper_subclass and has no memory of its own to read.\n"
        "Its __torch_dispatch__ must compute the result from the tensors it holds.",
        type, format_sizes(tensor.shape()).c_str());
}

// _make_wrapper(cls, like, device)
PyObject* make_wrapper(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *type, *geometry, *device_object;
    if (!PyArg_ParseTuple(args, "OOO:_make_wrapper", &type, &geometry, &device_object)) return nullptr;
    Value device_value;
    if (!to_handle(ArgType::Device, device_object, device_value)) raise(ErrorKind::Type, "a wrapper needs a device");
    const Device device = decode_device(device_value.integer);
    if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &tensor_base_type))
      raise(ErrorKind::Type, "_make_wrapper_subclass takes a subclass of Tensor");
    if (!find_protocol(reinterpret_cast<PyTypeObject*>(type)))
      raise(ErrorKind::Runtime, "%s must define __torch_dispatch__: a wrapper has no memory that ops could read",
            reinterpret_cast<PyTypeObject*>(type)->tp_name);
    if (!is_tensor(geometry)) raise(ErrorKind::Type, "_make_wrapper takes a tensor whose geometry the wrapper gets");
    const TensorImpl& like = *tensor_of(geometry);
    Tensor tensor = empty({}, like.dtype, device);
    if (tensor->storage->release()) destroy(std::exchange(tensor->storage, nullptr));
    tensor->storage = allocate_storage(0, device).leak();
    set_geometry(*tensor, like.shape(), like.stride());
    tensor->offset = like.offset;
    tensor->flags |= TensorImpl::kNoMemory;
    return wrap_as(reinterpret_cast<PyTypeObject*>(type), std::move(tensor));
  });
}

// _share_storage(tensor, source): makes the result of a view op, returned by a handler, an alias of its source.
PyObject* share_storage(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *object, *source;
    if (!PyArg_ParseTuple(args, "OO:_share_storage", &object, &source)) return nullptr;
    if (!is_tensor(object) || !is_tensor(source)) raise(ErrorKind::Type, "_share_storage takes two tensors");
    TensorImpl &tensor = *tensor_of(object), &origin = *tensor_of(source);
    origin.storage->retain();
    Storage* old = std::exchange(tensor.storage, origin.storage);
    if (old->release()) destroy(old);
    return none();
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

// _derived_from(name), of a derivative op: (rule, forward overload, [(source, index, element)] per argument,
// [(argument, value)] of the forward call that select the plan, [forward input per result]).
PyObject* derivation(PyObject*, PyObject* name_object) {
  return guarded([&] {
    const char* name = PyUnicode_AsUTF8(name_object);
    if (!name) raise_python();
    const OpRecord* op = find_op(name);
    const std::optional<Derivation> found = op ? derived_from(*op) : std::nullopt;
    if (!found) raise(ErrorKind::Runtime, "%s is not a derivative of an op", name);
    if (!found->op) raise(ErrorKind::Runtime, "the op that %s is the derivative of is forgotten", name);
    Object sources = own(PyList_New(0)), structural = own(PyList_New(0)), results = own(PyList_New(0));
    const auto append = [](Object& list, PyObject* entry) { checked(PyList_Append(list.get(), own(entry).get())); };
    for (const ArgumentSource& from : found->arguments)
      append(sources, Py_BuildValue("(sii)", kArgumentOriginNames[static_cast<int>(from.from)].data(), from.index,
                                    from.element));
    for (const StructuralArgument& chosen : found->structural)
      append(structural, Py_BuildValue("(iN)", chosen.index, value_object(chosen.value)));
    for (const int16_t input : found->results) append(results, PyLong_FromLong(input));
    return checked(Py_BuildValue("(sOOOO)", kRuleNames[static_cast<int>(found->rule)].data(),
                                 overload_object(*found->op), sources.get(), structural.get(), results.get()));
  });
}

// _derivative_of(name, mask, results, *args, **kwargs): the op that computes the gradients of the inputs in the mask
// for such a call of the op `name`, and [(argument, element, dim)] of the sizes that it reads. None: there is no such
// op.
PyObject* derivative_of(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (count < 3) raise(ErrorKind::Type, "_derivative_of takes a name, a mask and results before the arguments");
    const char* name = PyUnicode_AsUTF8(args[0]);
    if (!name) raise_python();
    OpRecord* op = find_op(name);
    if (!op) raise(ErrorKind::Runtime, "there is no op %s to derive", name);
    const uint64_t mask = PyLong_AsUnsignedLongLong(args[1]);
    if (PyErr_Occurred()) raise_python();
    const Signature signature(*op);
    const PythonArguments given{nullptr, args + 3, count - 3, names};
    ParsedArguments parsed;
    if (!parse(signature, given, parsed))
      raise(ErrorKind::Type, "%s", explain_mismatch(signature, given, true).c_str());
    const Object results = own(PySequence_Tuple(args[2]));
    Value returned[kMaxReturns];
    for (Py_ssize_t i = 0; i < std::min<Py_ssize_t>(PyTuple_GET_SIZE(results.get()), kMaxReturns); ++i)
      if (PyObject* result = PyTuple_GET_ITEM(results.get(), i); is_tensor(result))
        returned[i] = Value::of(tensor_of(result));
    const OpCall call{op, parsed.values(), returned, signature.num_parameters, KeySet::from_bits(parsed.keys)};
    const SharedPlan plan = find_derivative(call, mask);
    if (!plan || !plan->op) return none();
    Object sizes = own(PyList_New(0));
    for (const SizeSource& size : plan->sizes)
      checked(PyList_Append(sizes.get(), own(Py_BuildValue("(iii)", size.argument, size.element, size.dim)).get()));
    return checked(Py_BuildValue("(OO)", overload_object(*plan->op), sizes.get()));
  });
}

// _derivative_origin(name): the encoded [rule, op, arguments, mask] that a derivative op was traced from.
PyObject* origin(PyObject*, PyObject* name_object) {
  return guarded([&] {
    const char* name = PyUnicode_AsUTF8(name_object);
    if (!name) raise_python();
    const OpRecord* op = find_op(name);
    const std::string* found = op ? derivative_origin(*op) : nullptr;
    if (!found) raise(ErrorKind::Runtime, "%s is not a derivative of an op", name);
    return checked(PyBytes_FromStringAndSize(found->data(), static_cast<Py_ssize_t>(found->size())));
  });
}

// _op_of_origin(schema, origin): the op that the compiler makes from an encoded origin.
PyObject* op_of_origin(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    const char *schema, *origin;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "sy#:_op_of_origin", &schema, &origin, &length)) return nullptr;
    const auto op =
        derivative_op(schema, OpKind::Loop, 0, {origin, static_cast<size_t>(length)}, ResultLayout::RowMajor, {});
    return new_reference(overload_object(*op));
  });
}

PyMethodDef tensor_methods[] = {
    {"__torch_dispatch__", default_implementation, METH_VARARGS | METH_CLASS,
     "__torch_dispatch__(cls, func, types, args=(), kwargs=None): how subclasses see ops, below autograd."},
    {},
};

PyMethodDef functions[] = {
    {"_make_wrapper", make_wrapper, METH_VARARGS,
     "_make_wrapper(cls, like, device): an object of `cls` with the geometry of `like` and no memory."},
    {"_share_storage", share_storage, METH_VARARGS, "_share_storage(tensor, source): takes the source's storage."},
    {"_push_torch_dispatch_mode", push_mode, METH_O, "Makes a mode the innermost one of this thread."},
    {"_pop_torch_dispatch_mode", pop_mode, METH_NOARGS, "Removes the innermost mode and returns it."},
    {"_torch_dispatch_modes", list_modes, METH_NOARGS, "The modes in force in this thread, the innermost last."},
    {"_register_decomposition", register_decomposition, METH_VARARGS,
     "_register_decomposition(name, function): what __torch_dispatch__ sees in place of an op."},
    {"_register_dispatch_rule", register_dispatch_rule, METH_VARARGS,
     "_register_dispatch_rule(name, class, function): what replaces the class's __torch_dispatch__ at an op."},
    {"_derived_from", derivation, METH_O, "_derived_from(name): what a derivative op is the derivative of."},
    {"_derivative_of", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(derivative_of)),
     METH_FASTCALL | METH_KEYWORDS,
     "_derivative_of(name, mask, results, *args, **kwargs): (op, sizes) of the gradients of a call, or None."},
    {"_op_of_origin", op_of_origin, METH_VARARGS, "_op_of_origin(schema, origin): an op of an encoded description."},
    {"_derivative_origin", origin, METH_O, "_derivative_origin(name): what a derivative op was traced from, encoded."},
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
  core_hooks.find_memory = find_memory_or_refuse;
}

}  // namespace pellucid::python
