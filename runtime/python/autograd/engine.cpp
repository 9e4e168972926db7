// backward and grad for Python, and Tensor's attributes and methods for autograd: grad_fn, backward, detach, hooks.
#include <memory>
#include <optional>

#include "autograd/accumulate_grad.h"
#include "autograd/anomaly.h"
#include "autograd/engine.h"
#include "autograd/hooks.h"
#include "autograd/op_node.h"
#include "autograd/tensor_history.h"
#include "core/hooks.h"
#include "core/inline_vector.h"
#include "core/thread_state.h"
#include "python/autograd/autograd.h"
#include "python/autograd/saved.h"
#include "python/call_lines.h"
#include "python/tensor_type.h"
#include "transforms/wrapper.h"

namespace pellucid::python {
namespace {

// Tensors and GradientEdges (anything with `node` and `output_nr`) as edges of the graph. Holds their nodes.
struct Targets {
  InlineVector<Target, 4> list;
  std::vector<Ref<Node>> nodes;

  void add(PyObject* object, const char* what, ErrorKind error) {
    if (is_tensor(object)) return list.push_back({primal_of(tensor_of(object)), {}});
    Object node = Object::steal(PyObject_GetAttrString(object, "node"));
    Object number = Object::steal(node ? PyObject_GetAttrString(object, "output_nr") : nullptr);
    PyErr_Clear();
    if (!node || !number || !is_node(node.get()))
      raise(error, "%s have to be Tensors or GradientEdges, but got %s", what, Py_TYPE(object)->tp_name);
    const long input = PyLong_AsLong(number.get());
    if (input == -1 && PyErr_Occurred()) raise_python();
    nodes.push_back(node_of(node.get()));
    if (input < 0 || static_cast<uint32_t>(input) >= nodes.back()->num_inputs)
      raise(ErrorKind::Index, "%s has no output number %ld", nodes.back()->name().c_str(), input);
    list.push_back({nullptr, {nodes.back().get(), static_cast<uint32_t>(input)}});
  }
  void add_all(PyObject* sequence, const char* what, ErrorKind error) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i)
      add(PySequence_Fast_GET_ITEM(sequence, i), what, error);
  }
  std::span<const Target> span() { return {list.begin(), list.size()}; }
};

// The inputs as a sequence; those of a dict are its values.
Object inputs_from(PyObject* given) {
  if (PyDict_CheckExact(given)) return own(PyDict_Values(given));
  if (PyDict_Check(given))
    raise(ErrorKind::Type, "backward() takes inputs as a Tensor, a sequence or a dict, not %s; pass dict(inputs)",
          Py_TYPE(given)->tp_name);
  return own(PySequence_Fast(given, "inputs must be a Tensor, a sequence of Tensors or a dict of them"));
}

Tensor gradient_from(PyObject* object) {
  if (object == Py_None) return {};
  if (!is_tensor(object))
    raise(ErrorKind::Type, "gradients can be either Tensors or None, but got %s", Py_TYPE(object)->tp_name);
  return Tensor::share(tensor_of(object));
}

void warn_about_cycles(const BackwardOptions& options) {
  if (options.accumulate && options.create_graph) [[unlikely]]
    warn(
        "backward(create_graph=True) makes each parameter and its gradient hold each other, so that memory is not "
        "freed: "
        "use autograd.grad(), or set .grad to None behind it");
}

// Late gradients from a Python function that returns (number of the root, gradient), or None after the last.
struct CalledLateGradients final : LateGradients {
  PyObject* const function;  // borrowed

  CalledLateGradients(std::span<const Target> given, PyObject* called) : LateGradients(given), function(called) {}
  bool wait(size_t& root, Tensor& grad) override {
    HoldGil gil;
    const Object found = own(PyObject_CallNoArgs(function));
    if (found.get() == Py_None) return false;
    if (!PyTuple_Check(found.get()) || PyTuple_GET_SIZE(found.get()) != 2)
      raise(ErrorKind::Type, "a late gradient is (number of the root, gradient)");
    root = PyLong_AsSize_t(PyTuple_GET_ITEM(found.get(), 0));
    if (PyErr_Occurred()) raise_python();
    if (root >= roots.size()) raise(ErrorKind::Index, "there are %zu late roots, no number %zu", roots.size(), root);
    grad = gradient_from(PyTuple_GET_ITEM(found.get(), 1));
    return true;
  }
};

// _run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs, allow_unused, accumulate,
PyObject* run_from_python(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 7 && count != 9) raise(ErrorKind::Type, "_run_backward takes 7 or 9 arguments");
    Object roots_given = own(PySequence_Fast(args[0], "tensors must be a Tensor or a sequence of Tensors"));
    Object grads_given = own(PySequence_Fast(args[1], "grad_tensors must be a Tensor or a sequence of Tensors"));
    Object inputs_given = own(PySequence_Fast(args[4], "inputs must be a Tensor or a sequence of Tensors"));
    Targets roots, inputs;
    roots.add_all(roots_given.get(), "all tensors", ErrorKind::Type);
    inputs.add_all(inputs_given.get(), "all inputs", ErrorKind::Runtime);
    std::vector<Tensor> grads;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(grads_given.get()); ++i)
      grads.push_back(gradient_from(PySequence_Fast_GET_ITEM(grads_given.get(), i)));
    if (grads.size() != roots.list.size())
      raise(ErrorKind::Runtime, "got %zu tensors and %zu gradients: there must be one gradient (or None) per tensor",
            roots.list.size(), grads.size());
    Targets late_roots;
    std::optional<CalledLateGradients> late;
    if (count == 9) {
      late_roots.add_all(own(PySequence_Fast(args[7], "late tensors must be a sequence")).get(), "all late tensors",
                         ErrorKind::Type);
      late.emplace(late_roots.span(), args[8]);
    }
    const BackwardOptions options{PyObject_IsTrue(args[2]) == 1, PyObject_IsTrue(args[3]) == 1,
                                  PyObject_IsTrue(args[6]) == 1, PyObject_IsTrue(args[5]) == 1,
                                  late ? &*late : nullptr};
    if (options.accumulate) refuse_in_transforms("backward");
    warn_about_cycles(options);
    note_line();
    const std::vector<Tensor> result = run_backward(roots.span(), grads, inputs.span(), options);
    return options.accumulate ? none() : tuple_of(result).leak();
  });
}

// Tensor.backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)
PyObject* tensor_backward(PyObject* self, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"gradient", "retain_graph", "create_graph", "inputs", nullptr};
    PyObject *gradient = Py_None, *retain = Py_None, *create = Py_False, *inputs = Py_None;
    const bool plain = !kwargs && PyTuple_GET_SIZE(args) == 0;
    if (!plain && !PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOO:backward", const_cast<char**>(names), &gradient,
                                               &retain, &create, &inputs))
      return nullptr;
    BackwardOptions options;
    options.create_graph = PyObject_IsTrue(create) == 1;
    options.retain_graph = retain == Py_None ? options.create_graph : PyObject_IsTrue(retain) == 1;
    options.allow_unused = true;
    refuse_in_transforms("backward");
    warn_about_cycles(options);
    Targets roots, chosen;
    roots.add(self, "tensors", ErrorKind::Type);
    if (is_tensor(inputs)) chosen.add(inputs, "all inputs", ErrorKind::Runtime);
    else if (inputs != Py_None) {
      chosen.add_all(inputs_from(inputs).get(), "all inputs", ErrorKind::Runtime);
      if (chosen.list.empty()) raise(ErrorKind::Runtime, "`inputs` argument to `backward()` cannot be empty");
    }
    const Tensor grad = gradient_from(gradient);
    note_line();
    run_backward(roots.span(), {&grad, 1}, chosen.span(), options);
    return none();
  });
}

template <PyObject* (*dict_of)(const TensorImpl&)>
PyObject* get_hooks(PyObject* self, void*) {
  return guarded([&] { return dict_of(*tensor_of(self)); });
}

PyObject* get_grad_fn(PyObject* self, void*) {
  return guarded([&] { return wrap_node(grad_fn(*innermost_value(tensor_of(self)))); });
}

PyObject* tensor_retain_grad(PyObject* self, PyObject*) {
  return guarded([&] {
    refuse_in_transforms("retain_grad");
    retain_grad(*tensor_of(self));
    return none();
  });
}

PyObject* tensor_detach(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(detach(*tensor_of(self))); });
}

PyObject* tensor_detach_in_place(PyObject* self, PyObject*) {
  return guarded([&] {
    detach_in_place(*tensor_of(self));
    return new_reference(self);
  });
}

// Adds `hook` to the dict and returns a handle that removes it.
PyObject* register_in(Object dict, PyObject* hook) {
  static PyObject* handle_type = nullptr;
  if (!handle_type) {
    Object module = own(PyImport_ImportModule("pellucid.utils.hooks"));
    handle_type = own(PyObject_GetAttrString(module.get(), "RemovableHandle")).leak();
  }
  if (!PyCallable_Check(hook)) raise(ErrorKind::Type, "a hook must be callable, not %s", Py_TYPE(hook)->tp_name);
  Object handle = own(PyObject_CallOneArg(handle_type, dict.get()));
  Object id = own(PyObject_GetAttrString(handle.get(), "id"));
  checked(PyObject_SetItem(dict.get(), id.get(), hook));
  return handle.leak();
}

PyObject* tensor_register_hook(PyObject* self, PyObject* hook) {
  return guarded([&] { return register_in(Object::steal(hook_dict_of_tensor(*tensor_of(self))), hook); });
}

PyObject* tensor_register_after_accumulation(PyObject* self, PyObject* hook) {
  return guarded([&] { return register_in(Object::steal(hook_dict_after_accumulation(*tensor_of(self))), hook); });
}

template <HookKind kind>
PyObject* node_register_hook(PyObject* self, PyObject* hook) {
  return guarded([&] {
    const Ref<Node> node = node_of(self);
    NodeExtras& extras = extras_of(*node);
    if (kind == HookKind::Before) return register_in(Object::steal(hook_dict(extras.before, kind)), hook);
    std::vector<uint32_t> edges = visible_edges(*node);
    if (edges.size() == node->num_edges) edges.clear();
    return register_in(Object::steal(hook_dict(extras.after, kind, std::move(edges))), hook);
  });
}

PyMethodDef tensor_methods[] = {
    {"backward", reinterpret_cast<PyCFunction>(tensor_backward), METH_VARARGS | METH_KEYWORDS,
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None): adds this tensor's\n"
     "gradient with respect to the leaves of its graph to their .grad."},
    {"retain_grad", tensor_retain_grad, METH_NOARGS, "Makes backward fill .grad of this non-leaf too."},
    {"detach", tensor_detach, METH_NOARGS, "An alias of the same memory, detached from the graph."},
    {"detach_", tensor_detach_in_place, METH_NOARGS, "Detaches this tensor from the graph; returns self."},
    {"register_hook", tensor_register_hook, METH_O,
     "register_hook(hook): hook(grad) sees this tensor's gradient and may return another one."},
    {"register_post_accumulate_grad_hook", tensor_register_after_accumulation, METH_O,
     "register_post_accumulate_grad_hook(hook): hook(tensor) runs after its .grad was accumulated."},
    {},
};

PyGetSetDef tensor_attributes[] = {
    {"grad_fn", get_grad_fn, nullptr, "The node of the op that made this tensor, or None.", nullptr},
    {"_backward_hooks", get_hooks<known_hooks_of_tensor>, nullptr, "The hooks on the gradient by id, or None.",
     nullptr},
    {"_post_accumulate_grad_hooks", get_hooks<known_hooks_after_accumulation>, nullptr,
     "The hooks after accumulation by id, or None.", nullptr},
    {},
};

PyMethodDef node_methods[] = {
    {"register_hook", node_register_hook<HookKind::After>, METH_O,
     "register_hook(hook): hook(grad_inputs, grad_outputs) runs after the node."},
    {"register_prehook", node_register_hook<HookKind::Before>, METH_O,
     "register_prehook(hook): hook(grad_outputs) runs before the node."},
};

// set_anomaly(enabled, check_nan)
PyObject* set_anomaly(PyObject*, PyObject* args) {
  int enabled = 0, check_nan = 1;
  if (!PyArg_ParseTuple(args, "p|p:_set_anomaly", &enabled, &check_nan)) return nullptr;
  return guarded([&] {
    set_anomaly_mode(enabled != 0, check_nan != 0);
    return none();
  });
}
PyObject* anomaly_report(PyObject*, PyObject*) {
  return guarded([] { return to_string(first_non_finite()).leak(); });
}
PyObject* is_anomaly_enabled(PyObject*, PyObject*) { return PyBool_FromLong(thread_state.anomaly_mode); }
PyObject* is_anomaly_check_nan_enabled(PyObject*, PyObject*) { return PyBool_FromLong(anomaly_checks_nan); }

PyObject* gradient_edge_of(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(object)) raise(ErrorKind::Type, "expected a Tensor, not %s", Py_TYPE(object)->tp_name);
    const Edge edge = gradient_edge(*tensor_of(object));
    if (!edge.node) raise(ErrorKind::Runtime, "a tensor that does not require gradients has no gradient edge");
    Object node = own(wrap_node(edge.node));
    return Py_BuildValue("(OI)", node.get(), edge.input);
  });
}

PyObject* increment_version(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(object)) raise(ErrorKind::Type, "expected a Tensor, not %s", Py_TYPE(object)->tp_name);
    tensor_of(object)->bump_version();
    return none();
  });
}

struct PythonCallback final : Callback {
  SharedObject function;
  explicit PythonCallback(PyObject* function) : function(function) {}
  void call() override {
    HoldGil gil;
    own(PyObject_CallNoArgs(function.get()));
  }
};

PyObject* queue_python_callback(PyObject*, PyObject* function) {
  return guarded([&] {
    queue_callback(Ref<Callback>::adopt(new PythonCallback(function)));
    return none();
  });
}

PyObject* current_pass(PyObject*, PyObject*) { return PyLong_FromLongLong(current_pass_id()); }
PyObject* current_node(PyObject*, PyObject*) {
  return guarded([] { return wrap_node(running_node()); });
}
// _results_of_node(name): the results that the running node saved of a watched call of this op. None: it saved none, or
// belongs to another op.
PyObject* results_of_node(PyObject*, PyObject* name_object) {
  return guarded([&]() -> PyObject* {
    const char* name = PyUnicode_AsUTF8(name_object);
    if (!name) raise_python();
    auto* node = dynamic_cast<OpNode*>(running_node());
    if (!node || node->op().qualified_name != name || !node->extras || node->extras->results.empty()) return none();
    Object list = own(PyList_New(0));
    for (const Tensor& result : node->extras->results)
      checked(PyList_Append(list.get(), own(wrap_or_none(result)).get()));
    return list.leak();
  });
}
// _arrived_gradients(name): for each result of the op's call whose node is running, whether its gradient arrived; the
// derivative receives zeros for the others. None: the running node belongs to another op.
PyObject* arrived_gradients(PyObject*, PyObject* name_object) {
  return guarded([&]() -> PyObject* {
    const char* name = PyUnicode_AsUTF8(name_object);
    if (!name) raise_python();
    auto* node = dynamic_cast<OpNode*>(running_node());
    if (!node || node->op().qualified_name != name) return none();
    Object list = own(PyList_New(0));
    for (uint32_t k = 0; k < node->num_inputs; ++k)
      checked(PyList_Append(list.get(), node->task.gradients[k] ? Py_True : Py_False));
    return list.leak();
  });
}
PyObject* accumulates_everywhere(PyObject*, PyObject*) { return PyBool_FromLong(accumulates_into_all()); }

thread_local bool multithreading = true;
PyObject* set_layout_policy(PyObject*, PyObject* enforce) {
  const int on = PyObject_IsTrue(enforce);
  return on < 0 ? nullptr : PyBool_FromLong(enforce_grad_layout(on != 0));
}

PyObject* set_multithreading(PyObject*, PyObject* mode) {
  const int on = PyObject_IsTrue(mode);
  return on < 0 ? nullptr : PyBool_FromLong(std::exchange(multithreading, on != 0));
}
PyObject* is_multithreading(PyObject*, PyObject*) { return PyBool_FromLong(multithreading); }

// _node_identity(node): the pair by which _count_executing_nodes identifies the node.
PyObject* identity_of(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    if (!is_node(object)) raise(ErrorKind::Type, "expected a graph Node, not %s", Py_TYPE(object)->tp_name);
    const Ref<Node> node = node_of(object);
    return Py_BuildValue("(KK)", static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(node.get())),
                         static_cast<unsigned long long>(node->sequence));
  });
}

PyObject* count_executing(PyObject*, PyObject* identities) {
  return guarded([&]() -> PyObject* {
    Object given = own(PySequence_Fast(identities, "expected a sequence of identities"));
    std::vector<NodeIdentity> nodes;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(given.get()); ++i) {
      unsigned long long address, sequence;
      if (!PyArg_ParseTuple(PySequence_Fast_GET_ITEM(given.get(), i), "KK", &address, &sequence)) return nullptr;
      nodes.push_back({static_cast<uintptr_t>(address), sequence});
    }
    return PyLong_FromSize_t(count_running(nodes));
  });
}

PyObject* will_execute(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    if (!is_node(object)) raise(ErrorKind::Type, "expected a graph Node, not %s", Py_TYPE(object)->tp_name);
    return PyBool_FromLong(will_run(*node_of(object)));
  });
}

PyMethodDef functions[] = {
    {"_queue_callback", queue_python_callback, METH_O, "Calls the function when the running backward pass ends."},
    {"_current_graph_task_id", current_pass, METH_NOARGS, "The number of the running backward pass, or -1."},
    {"_current_autograd_node", current_node, METH_NOARGS, "The node that runs in this thread, or None."},
    {"_arrived_gradients", arrived_gradients, METH_O,
     "_arrived_gradients(name): which results of an op's call, whose node runs in this thread, a gradient arrived for; "
     "or None."},
    {"_results_of_node", results_of_node, METH_O,
     "_results_of_node(name): the results of an op's watched call whose node runs in this thread, or None."},
    {"_accumulates_into_all", accumulates_everywhere, METH_NOARGS, "Whether no running pass is limited to inputs."},
    {"_enforce_grad_layout", set_layout_policy, METH_O, "Sets this thread's policy; returns the previous one."},
    {"_set_multithreading_enabled", set_multithreading, METH_O,
     "Sets this thread's switch; returns the previous value."},
    {"_is_multithreading_enabled", is_multithreading, METH_NOARGS,
     "This thread's switch for passes of several threads."},
    {"_node_identity", identity_of, METH_O, "Address and sequence number of a node."},
    {"_count_executing_nodes", count_executing, METH_O, "How many of these nodes the running backward pass runs."},
    {"_will_engine_execute_node", will_execute, METH_O, "Whether the running backward pass runs this node."},
    {"_run_backward", reinterpret_cast<PyCFunction>(run_from_python), METH_FASTCALL,
     "_run_backward(tensors, grad_tensors, retain_graph, create_graph, inputs, allow_unused, accumulate)"},
    {"_set_anomaly", set_anomaly, METH_VARARGS, "_set_anomaly(enabled, check_nan=True)"},
    {"_first_non_finite", anomaly_report, METH_NOARGS, "Where values first became NaN or infinite, or ''."},
    {"is_anomaly_enabled", is_anomaly_enabled, METH_NOARGS, "Whether anomaly mode is on in this thread."},
    {"is_anomaly_check_nan_enabled", is_anomaly_check_nan_enabled, METH_NOARGS, "Whether it looks for NaN."},
    {"_increment_version", increment_version, METH_O, "Counts an in-place write that was not made by an op."},
    {"_gradient_edge", gradient_edge_of, METH_O, "(node, output number) that a tensor's gradient goes to."},
    {},
};

}  // namespace

void add_engine(PyObject* module) {
  add_tensor_methods(tensor_methods);
  add_tensor_attributes(tensor_attributes);
  for (PyMethodDef& method : node_methods) {
    Object descriptor = own(PyDescr_NewMethod(&node_base_type, &method));
    checked(PyDict_SetItemString(node_base_type.tp_dict, method.ml_name, descriptor.get()));
  }
  PyType_Modified(&node_base_type);
  stack_number = number_of_stack;
  stack_text = text_of_stack;
  checked(PyModule_AddFunctions(module, functions));
}

void add_autograd(PyObject* module) {
  add_nodes(module);
  add_function_base(module);
  add_engine(module);
  add_saved_hooks(module);
  add_extension_table(module);
}

}  // namespace pellucid::python
