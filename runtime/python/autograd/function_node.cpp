#include "python/autograd/function_node.h"

#include "autograd/anomaly.h"
#include "autograd/gradient_ops.h"
#include "autograd/tensor_history.h"
#include "core/thread_state.h"

namespace pellucid::python {
namespace {

// The class's backward, or vjp, another name for it.
Object backward_of(PyObject* forward_class) {
  static LateImport base("pellucid.autograd.function", "base_backward");
  Object backward = own(PyObject_GetAttrString(forward_class, "backward"));
  Object vjp = own(PyObject_GetAttrString(forward_class, "vjp"));
  if (vjp.get() == base.get()) return backward;
  if (backward.get() != base.get())
    raise(ErrorKind::Runtime, "a custom Function implements either 'backward' or 'vjp', which mean the same; not both");
  return vjp;
}

}  // namespace

PyObject* context_of(const Node& node) {
  if (node.kind != NodeKind::Function) return nullptr;
  const auto* function = dynamic_cast<const FunctionNode*>(&node);
  return function ? function->context : nullptr;
}

FunctionNode::FunctionNode(PyObject* owner) : context(new_reference(owner)) {
  kind = NodeKind::Function;
  sequence = ++thread_state.sequence;
  num_inputs = 0;
  task.node = this;
}

void FunctionNode::add_argument(PyObject* argument) {
  is_tensor.push_back(python::is_tensor(argument));
  if (is_tensor.back()) own_edges.push_back(retained_edge(*tensor_of(argument)));
  set_edges(*this, own_edges);
}

void FunctionNode::add_output(const TensorImpl* tensor, bool marked) {
  is_tensor_output.push_back(tensor != nullptr);
  is_marked_output.push_back(marked);
  sizes.emplace_back();
  own_infos.emplace_back();
  if (!tensor) return;
  sizes.back().assign(tensor->shape().begin(), tensor->shape().end());
  own_infos.back() = {nullptr, tensor->ndim, tensor->dtype, tensor->device};
}

void FunctionNode::finish() {
  num_inputs = static_cast<uint32_t>(own_infos.size());
  for (size_t i = 0; i < sizes.size(); ++i) own_infos[i].sizes = sizes[i].data();
  gradients.resize(num_inputs);
  infos = own_infos.data();
  task.gradients = gradients.data();
}

bool FunctionNode::materializes(size_t output) const {
  const FunctionObject& function = *as_function(context);
  return function.materialize_grads && (!is_marked_output[output] || function.materialize_non_differentiable);
}

void FunctionNode::apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool) {
  HoldGil gil;
  if (!context) raise(ErrorKind::Runtime, "the context of a custom Function was freed before its backward ran");
  Object forward_class = own(PyObject_GetAttrString(context, "_forward_cls"));
  Object backward = backward_of(forward_class.get());
  Object arguments = own(PyTuple_New(static_cast<Py_ssize_t>(grads_in.size()) + 1));
  PyTuple_SET_ITEM(arguments.get(), 0, new_reference(context));
  for (size_t i = 0; i < grads_in.size(); ++i) {
    Tensor grad = grads_in[i];
    if (!grad && is_tensor_output[i] && materializes(i)) grad = zeros(infos[i]);
    PyTuple_SET_ITEM(arguments.get(), static_cast<Py_ssize_t>(i) + 1, wrap_or_none(std::move(grad)));
  }
  Object result = own(PyObject_CallObject(backward.get(), arguments.get()));
  if (!PyTuple_Check(result.get())) result = own(PyTuple_Pack(1, result.get()));
  spread(result.get(), grads_out);
}

// Distributes backward's results, one per argument of forward, to the edges of the tensor arguments.
void FunctionNode::spread(PyObject* result, std::span<Tensor> grads_out) const {
  auto given = static_cast<size_t>(PyTuple_GET_SIZE(result));
  while (given > is_tensor.size() && PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(given) - 1) == Py_None) --given;
  if (given != is_tensor.size())
    raise(ErrorKind::Runtime,
          "function %s returned an incorrect number of gradients (expected %zu, got %zu):\n"
          "backward returns one for each argument of forward, None for those that have none",
          name().c_str(), is_tensor.size(), given);
  size_t edge = 0;
  for (size_t i = 0; i < given; ++i) {
    PyObject* item = PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i));
    if (!is_tensor[i]) {
      if (item == Py_None) continue;
      raise(ErrorKind::Runtime,
            "function %s returned a gradient different from None at position %zu, but that argument of forward\n"
            "was not a Tensor",
            name().c_str(), i + 1);
    }
    Tensor& grad = grads_out[edge++];
    if (item == Py_None) continue;
    if (!python::is_tensor(item))
      raise(ErrorKind::Runtime, "function %s: expected Variable or None as gradient %zu (got %s)", name().c_str(),
            i + 1, Py_TYPE(item)->tp_name);
    grad = Tensor::share(tensor_of(item));
  }
}

Tensor FunctionNode::unpack(const SavedTensor& slot) {
  if (slot.packed.packed) return slot.packed.unpack(*this);
  if (!slot.tensor) return {};
  const uint32_t version = slot.tensor->version().load();
  if (version != slot.version) {
    const std::string writer = writer_of(*slot.tensor, slot.version + 1);
    raise(ErrorKind::Runtime,
          "one of the variables needed for gradient computation has been modified by an inplace operation:\n"
          "a tensor that %s saved for backward, %s, is at version %u; expected version %u. Use an out-of-place op, or "
          "save a clone.%s%s",
          name().c_str(), type_and_shape(slot.tensor->dtype, slot.tensor->shape()).c_str(), version, slot.version,
          writer.empty() ? "" : "\nIt was changed by ", writer.c_str());
  }
  if (slot.output < 0) return slot.tensor;
  Tensor alias = detach(*slot.tensor);
  if (is_differentiable(alias->dtype)) set_history(*alias, Ref<Node>::share(this), static_cast<uint32_t>(slot.output));
  return alias;
}

void FunctionNode::release_saved() {
  if (saved.empty()) return;
  released = true;
  saved.clear();
}

std::string FunctionNode::name() const { return context ? Py_TYPE(context)->tp_name : "a Function without context"; }

bool FunctionNode::outlives_last_count() {
  if (!context || !Py_IsInitialized()) return false;
  HoldGil gil;
  FunctionObject& function = *as_function(context);
  if (Py_REFCNT(context) == 1 || function.dying) return false;
  refs.store(1);
  task.node = this;
  function.owns_node = true;
  Py_DECREF(context);  // it lives on if it has other owners
  return true;
}

void FunctionNode::free_memory() {
  if (context && Py_IsInitialized()) {
    HoldGil gil;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    as_function(context)->base.node = nullptr;
    Py_DECREF(context);
    PyErr_Restore(type, value, trace);
  }
  delete this;
}

}  // namespace pellucid::python
