// The function transforms' levels and wrappers, for pellucid.func and pellucid.autograd.forward_ad.
#include <unordered_set>
#include <vector>

#include "autograd/accumulate_grad.h"
#include "autograd/tensor_history.h"
#include "python/boundary.h"
#include "python/contexts.h"
#include "python/tensor_type.h"
#include "transforms/handler.h"
#include "transforms/wrapper.h"

namespace pellucid::python {
namespace {

TensorImpl& checked_tensor(PyObject* object) {
  if (!is_tensor(object)) raise(ErrorKind::Type, "expected a Tensor, not %s", Py_TYPE(object)->tp_name);
  return *tensor_of(object);
}

// _enter_batch_level(size, randomness), randomness 0 to 2 as in Randomness.
PyObject* enter_batch(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    long long size;
    int randomness;
    if (!PyArg_ParseTuple(args, "Li:_enter_batch_level", &size, &randomness)) return nullptr;
    pass_boundary("vmap");
    return PyLong_FromUnsignedLongLong(enter_level(LevelKind::Batch, size, static_cast<Randomness>(randomness)));
  });
}

PyObject* enter_forward(PyObject*, PyObject*) {
  return guarded([&] {
    pass_boundary("jvp");
    return PyLong_FromUnsignedLongLong(enter_level(LevelKind::Forward, 0, Randomness::Error));
  });
}

PyObject* leave(PyObject*, PyObject* number) {
  return guarded([&] {
    leave_level(PyLong_AsUnsignedLongLong(number));
    return none();
  });
}

// [(number, kind, size, randomness)] of this thread's levels, innermost last.
PyObject* levels(PyObject*, PyObject*) {
  return guarded([&] {
    Object list = own(PyList_New(0));
    for (const Level& level : active_levels()) {
      const char* kind = level.kind == LevelKind::Batch ? "batch" : "forward";
      Object entry = own(Py_BuildValue("(KsLi)", static_cast<unsigned long long>(level.number), kind,
                                       static_cast<long long>(level.size), static_cast<int>(level.randomness)));
      checked(PyList_Append(list.get(), entry.get()));
    }
    return list.leak();
  });
}

// _make_batched(tensor, level, uniform=False): examples along dim 0.
PyObject* batched(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject* tensor;
    unsigned long long level;
    int uniform = 0;
    if (!PyArg_ParseTuple(args, "OK|p:_make_batched", &tensor, &level, &uniform)) return nullptr;
    return wrap(make_batched(Tensor::share(&checked_tensor(tensor)), level, uniform));
  });
}

PyObject* dual(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *primal, *tangent;
    unsigned long long level;
    if (!PyArg_ParseTuple(args, "OOK:_make_dual", &primal, &tangent, &level)) return nullptr;
    return wrap(make_dual(Tensor::share(&checked_tensor(primal)), Tensor::share(&checked_tensor(tangent)), level));
  });
}

// _unwrap(tensor): (level, value, tangent or None, uniform) of a live level; None for a plain tensor.
PyObject* unwrap(PyObject*, PyObject* object) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(object)) return none();
    const TensorImpl* tensor = without_dead_levels(tensor_of(object));
    if (!tensor->wrapper) return none();
    const Wrapper& wrapper = *tensor->wrapper;
    Object value = own(wrap(wrapper.value)), tangent = own(wrap_or_none(wrapper.tangent));
    return Py_BuildValue("(KOOO)", static_cast<unsigned long long>(wrapper.level), value.get(), tangent.get(),
                         wrapper.uniform ? Py_True : Py_False);
  });
}

// _without_dead_levels(tensor): the tensor without wrappers of transforms that have ended.
PyObject* alive(PyObject*, PyObject* object) {
  return guarded([&] { return wrap(Tensor::share(without_dead_levels(&checked_tensor(object)))); });
}

std::vector<TensorImpl*> tensors_of(PyObject* list) {
  Object sequence = own(PySequence_Fast(list, "expected a sequence of Tensors"));
  std::vector<TensorImpl*> tensors;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence.get()); ++i)
    tensors.push_back(&checked_tensor(PySequence_Fast_GET_ITEM(sequence.get(), i)));
  return tensors;
}

// _depends_on_others(outputs, inputs): whether the graph of `outputs` has a path, not through `inputs`, to another
// leaf.
PyObject* depends_on_others(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *outputs, *inputs;
    if (!PyArg_ParseTuple(args, "OO:_depends_on_others", &outputs, &inputs)) return nullptr;
    std::unordered_set<const Node*> seen;
    for (TensorImpl* input : tensors_of(inputs)) seen.insert(gradient_edge(*input).node);
    std::vector<const Node*> open;
    const auto visit = [&](const Node* node) {
      if (node && seen.insert(node).second) open.push_back(node);
    };
    for (TensorImpl* output : tensors_of(outputs)) visit(gradient_edge(*output).node);
    while (!open.empty()) {
      const Node& node = *open.back();
      open.pop_back();
      if (dynamic_cast<const AccumulateGrad*>(&node)) Py_RETURN_TRUE;
      for (uint32_t i = 0; i < node.num_edges; ++i) visit(node.edges[i].node);
    }
    Py_RETURN_FALSE;
  });
}

// _call_transformed(function, *args, **kwargs): what it returns.
PyObject* call_transformed(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
  return guarded([&]() -> PyObject* {
    if (count < 1) raise(ErrorKind::Type, "_call_transformed() takes a function");
    ++transformed_calls();
    PyObject* result = PyObject_Vectorcall(args[0], args + 1, static_cast<size_t>(count - 1), names);
    --transformed_calls();
    return result;
  });
}

PyObject* is_forward_enabled(PyObject*, PyObject*) { return PyBool_FromLong(forward_mode_enabled()); }

PyObject* set_forward_enabled(PyObject*, PyObject* enabled) {
  const int truth = PyObject_IsTrue(enabled);
  if (truth < 0) return nullptr;
  forward_mode_enabled() = truth;
  return none();
}

PyObject* transforms_active(PyObject*, PyObject*) { return PyBool_FromLong(transformed_calls() > 0); }

PyMethodDef functions[] = {
    {"_are_functorch_transforms_active", transforms_active, METH_NOARGS,
     "Whether a transform of torch.func is calling a function on this thread."},
    {"_call_transformed", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_transformed)),
     METH_FASTCALL | METH_KEYWORDS,
     "_call_transformed(function, *args, **kwargs): calls the function as a transform does."},
    {"_depends_on_others", depends_on_others, METH_VARARGS,
     "_depends_on_others(outputs, inputs): whether outputs lead to leaves other than through inputs."},
    {"_enter_batch_level", enter_batch, METH_VARARGS, "_enter_batch_level(size, randomness): the level's number."},
    {"_enter_forward_level", enter_forward, METH_NOARGS, "The number of a new forward level."},
    {"_is_fwd_grad_enabled", is_forward_enabled, METH_NOARGS, "Whether ops of this thread compute tangents."},
    {"_set_fwd_grad_enabled", set_forward_enabled, METH_O, "_set_fwd_grad_enabled(enabled)"},
    {"_leave_level", leave, METH_O, "_leave_level(number): must be the innermost."},
    {"_levels", levels, METH_NOARGS, "[(number, kind, size, randomness)] of this thread's levels, innermost last."},
    {"_make_batched", batched, METH_VARARGS,
     "_make_batched(tensor, level, uniform=False): examples along dim 0, all of them equal if uniform."},
    {"_make_dual", dual, METH_VARARGS, "_make_dual(primal, tangent, level)"},
    {"_unwrap", unwrap, METH_O,
     "_unwrap(tensor): (level, value, tangent or None, uniform), or None for a plain tensor."},
    {"_without_dead_levels", alive, METH_O, "The tensor without wrappers of transforms that have ended."},
    {},
};

}  // namespace

void add_transforms(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace pellucid::python
