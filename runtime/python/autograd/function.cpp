// autograd.Function.apply: runs forward, makes the node, and connects the outputs to it.
#include <algorithm>

#include "autograd/anomaly.h"
#include "python/autograd/function_node.h"
#include "python/autograd/function_output.h"
#include "python/autograd/saved.h"
#include "python/boundary.h"
// needs Python.h first
#include <structmember.h>

#include "autograd/tensor_history.h"
#include "autograd/view_history.h"
#include "core/thread_state.h"

namespace pellucid::python {

PyTypeObject function_base_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

namespace {

using Arguments = std::span<PyObject* const>;

// The `setup_context` of Functions that do not define it.
LateImport base_setup_context("pellucid.autograd.function", "base_setup_context");

// Grad mode is off while forward and setup_context run.
class NoGrad {
 public:
  NoGrad() : saved_(std::exchange(thread_state.grad_mode, false)) {}
  ~NoGrad() { thread_state.grad_mode = saved_; }

 private:
  bool saved_;
};

// One call of apply.
class Application {
 public:
  Application(PyObject* function_class, Arguments arguments) : class_(function_class), arguments_(arguments) {}
  PyObject* run();

 private:
  void make_context();
  Object call_forward();
  PyObject* wrap_output(PyObject* output, size_t number, bool single);
  Tensor give_history(TensorImpl& output, uint32_t number, bool single);
  void count_dirty(PyObject* outputs) const;  // bumps each version once, whether or not an op wrote the tensor
  void save_tensors(PyObject* outputs);
  bool is_argument(const TensorImpl& tensor) const;

  PyObject* class_;
  Arguments arguments_;
  Object context_;
  Ref<Node> owner_;
  FunctionNode* node_ = nullptr;
  bool records_ = false;
};

bool contains(PyObject* tuple, const TensorImpl& tensor) {
  if (!tuple || tuple == Py_None) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (is_tensor(item) && tensor_of(item) == &tensor) return true;
  }
  return false;
}

void Application::make_context() {
  Object type = own(PyObject_GetAttrString(class_, "_backward_cls"));
  context_ = own(PyObject_CallNoArgs(type.get()));
  auto* function = as_function(context_.get());
  function->needs_input_grad = own(PyTuple_New(static_cast<Py_ssize_t>(arguments_.size()))).leak();
  bool any = false;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const bool needs = is_tensor(arguments_[i]) && requires_grad(*tensor_of(arguments_[i]));
    any |= needs;
    PyTuple_SET_ITEM(function->needs_input_grad, static_cast<Py_ssize_t>(i), PyBool_FromLong(needs));
  }
  records_ = any && thread_state.grad_mode;
  if (!records_) return;
  node_ = new FunctionNode(context_.get());
  owner_ = Ref<Node>::adopt(node_);
  function->base.node = node_;
  for (PyObject* argument : arguments_) node_->add_argument(argument);
}

// forward(ctx, *args), or forward(*args) and setup_context(ctx, args, output).
Object Application::call_forward() {
  NoGrad scope;
  Object forward = own(PyObject_GetAttrString(class_, "forward"));
  Object setup = own(PyObject_GetAttrString(class_, "setup_context"));
  const bool separate = setup.get() != base_setup_context.get();
  Object given = own(PyTuple_New(static_cast<Py_ssize_t>(arguments_.size()) + !separate));
  if (!separate) PyTuple_SET_ITEM(given.get(), 0, new_reference(context_.get()));
  for (size_t i = 0; i < arguments_.size(); ++i)
    PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i) + !separate, new_reference(arguments_[i]));
  Object output = own(PyObject_CallObject(forward.get(), given.get()));
  if (separate) own(PyObject_CallFunctionObjArgs(setup.get(), context_.get(), given.get(), output.get(), nullptr));
  pass_boundary("Function.apply");  // the outputs are connected to the node next
  return output;
}

bool Application::is_argument(const TensorImpl& tensor) const {
  return std::ranges::any_of(arguments_,
                             [&](PyObject* argument) { return is_tensor(argument) && tensor_of(argument) == &tensor; });
}

Tensor Application::give_history(TensorImpl& output, uint32_t number, bool single) {
  const auto* function = as_function(context_.get());
  FunctionOutput facts{
      .number = number,
      .argument = 0,
      .is_argument = is_argument(output),
      .written = contains(function->dirty, output),
      .differentiable = records_ && is_differentiable(output.dtype) && !contains(function->non_differentiable, output),
      .single = single};
  for (PyObject* given : arguments_) {
    if (is_tensor(given) && tensor_of(given) == &output) break;
    facts.argument += is_tensor(given);
  }
  return python::give_history(output, owner_, facts);
}

PyObject* Application::wrap_output(PyObject* output, size_t number, bool single) {
  if (!is_tensor(output)) {
    if (node_) node_->add_output(nullptr, false);
    return new_reference(output);
  }
  TensorImpl& tensor = *tensor_of(output);
  if (node_) node_->add_output(&tensor, contains(as_function(context_.get())->non_differentiable, tensor));
  Tensor result = give_history(tensor, static_cast<uint32_t>(number), single);
  return result.get() == &tensor ? new_reference(output) : wrap(std::move(result));
}

void Application::count_dirty(PyObject* outputs) const {
  PyObject* dirty = as_function(context_.get())->dirty;
  if (!dirty || dirty == Py_None) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(dirty); ++i) {
    PyObject* item = PyTuple_GET_ITEM(dirty, i);
    if (!is_tensor(item))
      raise(ErrorKind::Runtime, "mark_dirty takes tensors; argument %zd is a %s", i, Py_TYPE(item)->tp_name);
    if (!contains(outputs, *tensor_of(item)))
      raise(ErrorKind::Runtime,
            "a tensor that was given to mark_dirty was not returned by forward: what a Function modifies in place\n"
            "must be among its outputs");
    tensor_of(item)->bump_version();
  }
}

void Application::save_tensors(PyObject* outputs) {
  PyObject* to_save = as_function(context_.get())->to_save;
  if (!to_save || to_save == Py_None || !node_) return;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(to_save); ++i) {
    PyObject* item = PyTuple_GET_ITEM(to_save, i);
    SavedTensor& slot = node_->saved.emplace_back();
    if (item == Py_None) continue;
    if (!is_tensor(item))
      raise(ErrorKind::Type,
            "save_for_backward can only save tensors and None; argument %zd is a %s.\n"
            "Keep other values as attributes of ctx.",
            i, Py_TYPE(item)->tp_name);
    TensorImpl& tensor = *tensor_of(item);
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(outputs); ++k) {
      PyObject* output = PyTuple_GET_ITEM(outputs, k);
      if (is_tensor(output) && tensor_of(output) == &tensor && tensor.autograd &&
          tensor.autograd->grad_fn.get() == node_)
        slot.output = static_cast<int32_t>(k);
    }
    slot.tensor = slot.output < 0 ? Tensor::share(&tensor) : detach(tensor);
    slot.version = tensor.version().load();
    if (!thread_state.packs_saved_tensors) continue;
    slot.packed = pack_slot(tensor, slot.output, pack_with_hooks(tensor));
    slot.tensor = {};
  }
  Py_CLEAR(as_function(context_.get())->to_save);
}

PyObject* Application::run() {
  make_context();
  Object output = call_forward();
  const bool single = !PyTuple_Check(output.get());
  Object outputs = single ? own(PyTuple_Pack(1, output.get())) : output;
  count_dirty(outputs.get());
  Object results = own(PyTuple_New(PyTuple_GET_SIZE(outputs.get())));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(outputs.get()); ++i)
    PyTuple_SET_ITEM(
        results.get(), i,
        wrap_output(PyTuple_GET_ITEM(outputs.get(), i), static_cast<size_t>(i), PyTuple_GET_SIZE(outputs.get()) == 1));
  if (node_) node_->finish();
  if (node_ && thread_state.anomaly_mode) remember_forward_stack(*node_);
  save_tensors(results.get());
  // A reference to an output would own its node and thereby this context: a cycle.
  Py_CLEAR(as_function(context_.get())->dirty);
  Py_CLEAR(as_function(context_.get())->non_differentiable);
  return single ? new_reference(PyTuple_GET_ITEM(results.get(), 0)) : results.leak();
}

// Whether an argument is a tensor of a function transform: then pellucid.func applies the Function's rule.
bool is_transformed(Arguments arguments) {
  return std::ranges::any_of(arguments,
                             [](PyObject* object) { return is_tensor(object) && tensor_of(object)->wrapper; });
}

// A forward with a separate setup_context also receives its defaults.
bool has_defaults(PyObject* function_class) {
  Object setup = own(PyObject_GetAttrString(function_class, "setup_context"));
  if (setup.get() == base_setup_context.get()) return false;
  Object forward = own(PyObject_GetAttrString(function_class, "forward"));
  return PyFunction_Check(forward.get()) && PyFunction_GET_DEFAULTS(forward.get());
}

// The arguments by position. `names`: the keywords of the last ones, or null.
Object bind(PyObject* function_class, Arguments given, PyObject* names) {
  static LateImport bind_arguments("pellucid.autograd.function", "bind_arguments");
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  const Py_ssize_t positional = static_cast<Py_ssize_t>(given.size()) - named;
  Object args = own(PyTuple_New(positional)), keywords = own(PyDict_New());
  for (Py_ssize_t i = 0; i < positional; ++i)
    PyTuple_SET_ITEM(args.get(), i, new_reference(given[static_cast<size_t>(i)]));
  for (Py_ssize_t i = 0; i < named; ++i)
    checked(PyDict_SetItem(keywords.get(), PyTuple_GET_ITEM(names, i), given[static_cast<size_t>(positional + i)]));
  return own(PyObject_CallFunctionObjArgs(bind_arguments.get(), function_class, args.get(), keywords.get(), nullptr));
}

PyObject* apply_to(PyObject* function_class, Arguments arguments) {
  pass_boundary("Function.apply");
  if (!is_transformed(arguments)) [[likely]]
    return Application(function_class, arguments).run();
  static LateImport apply("pellucid.autograd._transformed_function", "apply");
  std::vector<PyObject*> all{function_class};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return checked(PyObject_Vectorcall(apply.get(), all.data(), all.size(), nullptr));
}

// apply(cls, *args)
PyObject* apply_function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (count < 1) raise(ErrorKind::Type, "apply is called on a subclass of Function");
    const size_t given = static_cast<size_t>(count - 1 + (names ? PyTuple_GET_SIZE(names) : 0));
    if (!names && !has_defaults(arguments[0])) return apply_to(arguments[0], {arguments + 1, given});
    Object bound = bind(arguments[0], {arguments + 1, given}, names);
    PyObject* const* items = reinterpret_cast<PyTupleObject*>(bound.get())->ob_item;
    return apply_to(arguments[0], {items, static_cast<size_t>(PyTuple_GET_SIZE(bound.get()))});
  });
}

PyObject* make_context_object(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self) as_function(self)->materialize_grads = as_function(self)->materialize_non_differentiable = 1;
  return self;
}

// Called when the last reference to a context that owns its node is dropped: the node is freed, or owns the context
// again.
void finalize(PyObject* self) {
  FunctionObject* function = as_function(self);
  if (!std::exchange(function->owns_node, false)) return;
  function->dying = true;
  Py_INCREF(self);  // the node's count
  Ref<Node>::adopt(function->base.node);
  function->dying = false;
}

void deallocate(PyObject* self) {
  FunctionObject* function = as_function(self);
  if (function->owns_node) {  // Python finalizes an object once only
    static_cast<FunctionNode*>(function->base.node)->context = nullptr;
    Ref<Node>::adopt(function->base.node);
  }
  Py_CLEAR(function->saved_for_forward);
  Py_CLEAR(function->to_save);
  Py_CLEAR(function->dirty);
  Py_CLEAR(function->non_differentiable);
  Py_CLEAR(function->needs_input_grad);
  Py_TYPE(self)->tp_free(self);
}

PyObject* get_saved_tensors(PyObject* self, void*) {
  return guarded([&] {
    if (!as_function(self)->base.node) return own(PyTuple_New(0)).leak();
    Ref<Node> owner = node_of(self);
    auto& node = static_cast<FunctionNode&>(*owner);
    if (node.released)
      raise(ErrorKind::Runtime,
            "Trying to backward through the graph a second time: the tensors that %s saved were freed by the first "
            "pass.\n"
            "Pass retain_graph=True to the first backward() or grad() call if a second one is needed.",
            node.name().c_str());
    Object tuple = own(PyTuple_New(static_cast<Py_ssize_t>(node.saved.size())));
    for (size_t i = 0; i < node.saved.size(); ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_or_none(node.unpack(node.saved[i])));
    return tuple.leak();
  });
}

PyMemberDef members[] = {
    {"to_save", T_OBJECT, offsetof(FunctionObject, to_save), 0, nullptr},
    {"dirty_tensors", T_OBJECT, offsetof(FunctionObject, dirty), 0, nullptr},
    {"non_differentiable", T_OBJECT, offsetof(FunctionObject, non_differentiable), 0, nullptr},
    {"needs_input_grad", T_OBJECT, offsetof(FunctionObject, needs_input_grad), 0, nullptr},
    {"saved_for_forward", T_OBJECT, offsetof(FunctionObject, saved_for_forward), 0, nullptr},
    {"materialize_grads", T_BOOL, offsetof(FunctionObject, materialize_grads), 0, nullptr},
    {"_materialize_non_diff_grads", T_BOOL, offsetof(FunctionObject, materialize_non_differentiable), 0, nullptr},
    {},
};

PyObject* get_raw_saved(PyObject* self, void*) {
  return guarded([&] {
    Ref<Node> node = node_of(self);
    const size_t count = static_cast<FunctionNode&>(*node).saved.size();
    Object tuple = own(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (size_t i = 0; i < count; ++i)
      PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), raw_saved_object(node, i, 0));
    return tuple.leak();
  });
}

PyObject* get_context_requires_grad(PyObject* self, void*) {
  return PyBool_FromLong(as_function(self)->base.node != nullptr);
}

PyObject* clear_saved(PyObject* self, PyObject*) {
  return guarded([&] {
    if (as_function(self)->base.node) node_of(self)->release_saved();
    return none();
  });
}

PyMethodDef context_methods[] = {
    {"maybe_clear_saved_tensors", clear_saved, METH_NOARGS, "Frees the tensors that save_for_backward saved."},
    {},
};

PyGetSetDef attributes[] = {
    {"saved_tensors", get_saved_tensors, nullptr, "The tensors that save_for_backward saved.", nullptr},
    {"_raw_saved_tensors", get_raw_saved, nullptr, "The saved tensors as objects that take hooks.", nullptr},
    {"requires_grad", get_context_requires_grad, nullptr, "Whether the call was recorded.", nullptr},
    {},
};

PyMethodDef functions[] = {
    {"_apply_function", reinterpret_cast<PyCFunction>(apply_function), METH_FASTCALL | METH_KEYWORDS,
     "_apply_function(cls, *args): autograd.Function.apply."},
    {},
};

}  // namespace

void add_function_base(PyObject* module) {
  function_base_type.tp_name = "pellucid._C._FunctionBase";
  function_base_type.tp_doc = "The runtime's part of a custom Function's context.";
  function_base_type.tp_basicsize = sizeof(FunctionObject);
  function_base_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE;
  function_base_type.tp_base = &node_base_type;
  function_base_type.tp_new = make_context_object;
  function_base_type.tp_dealloc = deallocate;
  function_base_type.tp_members = members;
  function_base_type.tp_getset = attributes;
  function_base_type.tp_methods = context_methods;
  function_base_type.tp_finalize = finalize;
  checked(PyType_Ready(&function_base_type));
  checked(PyModule_AddObjectRef(module, "_FunctionBase", reinterpret_cast<PyObject*>(&function_base_type)));
  checked(PyModule_AddFunctions(module, functions));
}

}  // namespace pellucid::python
