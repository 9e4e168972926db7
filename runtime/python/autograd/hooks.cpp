// Hooks written in Python: each list of hooks holds one ordered dict, from which handles remove them.
#include <algorithm>

#include "autograd/tensor_history.h"
#include "core/format.h"
#include "python/autograd/autograd.h"

namespace pellucid::python {
namespace {

std::string name_of(PyObject* function) {
  Object text = Object::steal(PyObject_GetAttrString(function, "__name__"));
  if (!text) PyErr_Clear();
  const char* name = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  return name ? name : Py_TYPE(function)->tp_name;
}

Tensor replacement(PyObject* result, const Tensor& old, PyObject* function) {
  if (!is_tensor(result))
    raise(ErrorKind::Type, "hook '%s' returned '%s': a hook returns a Tensor that replaces the gradient, or None",
          name_of(function).c_str(), Py_TYPE(result)->tp_name);
  Tensor made = Tensor::share(tensor_of(result));
  if (!old) return made;
  if (!std::ranges::equal(made->shape(), old->shape()))
    raise(ErrorKind::Runtime,
          "hook '%s' has changed the size of value: the gradient has the size %s, the hook returned %s",
          name_of(function).c_str(), format_sizes(old->shape()).c_str(), format_sizes(made->shape()).c_str());
  if (made->dtype != old->dtype)
    raise(ErrorKind::Runtime, "hook '%s' has changed the type of value: the gradient is %s, the hook returned %s",
          name_of(function).c_str(), std::string(name(old->dtype)).c_str(), std::string(name(made->dtype)).c_str());
  return made;
}

void replace_all(PyObject* result, std::span<Tensor> gradients, PyObject* function) {
  if (!PyTuple_Check(result))
    raise(ErrorKind::Type, "hook '%s' returned '%s': it returns a tuple of the gradients, or None to keep them",
          name_of(function).c_str(), Py_TYPE(result)->tp_name);
  if (PyTuple_GET_SIZE(result) != static_cast<Py_ssize_t>(gradients.size()))
    raise(ErrorKind::Runtime, "hook '%s' returned %zd gradients; there are %zu", name_of(function).c_str(),
          PyTuple_GET_SIZE(result), gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    PyObject* item = PyTuple_GET_ITEM(result, static_cast<Py_ssize_t>(i));
    gradients[i] = item == Py_None ? Tensor() : replacement(item, gradients[i], function);
  }
}

struct PythonHooks final : Hook {
  SharedObject dict;
  HookKind kind;
  std::vector<uint32_t> edges;

  PythonHooks(PyObject* dict, HookKind kind, std::vector<uint32_t> edges)
      : dict(dict), kind(kind), edges(std::move(edges)) {}

  void call(std::span<Tensor> gradients, std::span<const Tensor> others) override {
    HoldGil gil;
    Object functions = own(PyMapping_Values(dict.get()));  // a list: hooks may add and remove hooks
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(functions.get()); ++i)
      call_one(PyList_GET_ITEM(functions.get(), i), gradients, others);
  }

 private:
  void call_one(PyObject* function, std::span<Tensor> gradients, std::span<const Tensor> others) {
    if (kind == HookKind::Tensor || kind == HookKind::Accumulated) {
      Object argument = Object::steal(wrap_or_none(gradients[0]));
      Object result = own(PyObject_CallOneArg(function, argument.get()));
      if (kind == HookKind::Tensor && result.get() != Py_None)
        gradients[0] = replacement(result.get(), gradients[0], function);
      if (kind == HookKind::Accumulated && result.get() != Py_None && result.get() != argument.get())
        raise(is_tensor(result.get()) ? ErrorKind::Runtime : ErrorKind::Type,
              "hook '%s' returned '%s': a hook after accumulation returns None; it may change .grad itself",
              name_of(function).c_str(), Py_TYPE(result.get())->tp_name);
      return;
    }
    std::vector<Tensor> seen;
    for (const uint32_t edge : edges) seen.push_back(gradients[edge]);
    const std::span<Tensor> given = edges.empty() ? gradients : std::span<Tensor>(seen);
    Object first = tuple_of(given);
    Object second = kind == HookKind::After ? tuple_of(others) : Object();
    Object result = own(PyObject_CallFunctionObjArgs(function, first.get(), second.get(), nullptr));
    if (result.get() == Py_None) return;
    replace_all(result.get(), given, function);
    for (size_t i = 0; i < edges.size(); ++i) gradients[edges[i]] = std::move(seen[i]);
  }
};

PyObject* ordered_dict() {
  static PyObject* type = nullptr;
  if (!type) type = own(PyObject_GetAttrString(own(PyImport_ImportModule("collections")).get(), "OrderedDict")).leak();
  return checked(PyObject_CallNoArgs(type));
}

}  // namespace

SharedObject::~SharedObject() {
  if (!object_ || !Py_IsInitialized()) return;
  HoldGil gil;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);  // a destructor must not change the exception in flight
  Py_DECREF(object_);
  PyErr_Restore(type, value, trace);
}

Object tuple_of(std::span<const Tensor> tensors) {
  Object tuple = own(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), wrap_or_none(tensors[i]));
  return tuple;
}

PyObject* hook_dict(std::vector<Ref<Hook>>& hooks, HookKind kind, std::vector<uint32_t> edges) {
  for (const Ref<Hook>& hook : hooks)
    if (auto* python = dynamic_cast<PythonHooks*>(hook.get())) return new_reference(python->dict.get());
  Object dict = Object::steal(ordered_dict());
  hooks.push_back(Ref<Hook>::adopt(new PythonHooks(dict.get(), kind, std::move(edges))));
  return dict.leak();
}

namespace {

PyObject* known_dict(const Hook& hook) {
  const auto* python = dynamic_cast<const PythonHooks*>(&hook);
  return python ? new_reference(python->dict.get()) : nullptr;
}

PyObject* known_dict(const std::vector<Ref<Hook>>& hooks) {
  for (const Ref<Hook>& hook : hooks)
    if (PyObject* dict = known_dict(*hook)) return dict;
  return none();
}

}  // namespace

PyObject* known_hooks_of_tensor(const TensorImpl& tensor) {
  const AutogradMeta* meta = tensor.autograd;
  if (!meta) return none();
  if (!meta->grad_fn) return meta->hooks ? known_dict(meta->hooks->before) : none();
  if (const NodeExtras* extras = meta->grad_fn->extras)
    for (const NodeExtras::OfOutput& entry : extras->tensor_hooks)
      if (entry.output == meta->output_number)
        if (PyObject* dict = known_dict(*entry.hook)) return dict;
  return none();
}

PyObject* known_hooks_after_accumulation(const TensorImpl& tensor) {
  const AutogradMeta* meta = tensor.autograd;
  return meta && meta->hooks ? known_dict(meta->hooks->after_accumulation) : none();
}

PyObject* hook_dict_of_tensor(TensorImpl& tensor) {
  if (!requires_grad(tensor))
    raise(ErrorKind::Runtime, "cannot register a hook on a tensor that doesn't require gradient: none will reach it");
  Node* node = grad_fn(tensor);
  if (!node) return hook_dict(hooks_of_leaf(tensor).before, HookKind::Tensor);
  const uint32_t output = tensor.autograd->output_number;
  for (const NodeExtras::OfOutput& entry : extras_of(*node).tensor_hooks)
    if (auto* python = dynamic_cast<PythonHooks*>(entry.hook.get()); python && entry.output == output)
      return new_reference(python->dict.get());
  std::vector<Ref<Hook>> made;
  Object dict = Object::steal(hook_dict(made, HookKind::Tensor));
  extras_of(*node).tensor_hooks.push_back({output, made[0]});
  return dict.leak();
}

PyObject* hook_dict_after_accumulation(TensorImpl& tensor) {
  if (!requires_grad(tensor))
    raise(ErrorKind::Runtime, "cannot register a hook on a tensor that doesn't require gradient: none will reach it");
  if (!is_leaf(tensor))
    raise(ErrorKind::Runtime,
          "post accumulate grad hooks cannot be registered on non-leaf tensors: only leaves accumulate");
  return hook_dict(hooks_of_leaf(tensor).after_accumulation, HookKind::Accumulated);
}

}  // namespace pellucid::python
