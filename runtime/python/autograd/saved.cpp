// Hooks on saved tensors, written in Python: the stack of default hooks, and `_raw_saved_*` of nodes.
#include "python/autograd/saved.h"
#include "python/boundary.h"

#include <thread>
#include <vector>

#include "autograd/saved_value.h"
#include "core/dispatcher.h"
#include "core/thread_state.h"
#include "python/autograd/function_node.h"

namespace pellucid::python {
namespace {

struct HookPair {
  Object pack, unpack;
};

// Of one thread, innermost last. Only touched with the interpreter lock held.
struct DefaultHooks {
  std::vector<HookPair> stack;
  Object disabled;  // the error message while hooks are disabled, or null
};
DefaultHooks& default_hooks() {
  thread_local auto* hooks = new DefaultHooks;  // never freed: a thread may end after the interpreter
  return *hooks;
}

struct PythonPacked final : PackedTensor {
  SharedObject value, hook;
  PythonPacked(PyObject* value, PyObject* hook) : value(value), hook(hook) {}

  Tensor unpack() override {
    HoldGil gil;
    Object result = own(PyObject_CallOneArg(hook.get(), value.get()));
    if (!is_tensor(result.get()))
      raise(ErrorKind::Type, "an unpack hook of saved tensors must return a Tensor, not %s",
            Py_TYPE(result.get())->tp_name);
    return Tensor::share(tensor_of(result.get()));
  }
};

class NoGrad {
 public:
  NoGrad() : saved_(std::exchange(thread_state.grad_mode, false)) {}
  ~NoGrad() { thread_state.grad_mode = saved_; }

 private:
  bool saved_;
};

Ref<PackedTensor> pack_by(PyObject* pack, PyObject* unpack, TensorImpl& tensor) {
  NoGrad scope;
  const uint32_t version = tensor.version().load();
  Object given = own(wrap(Tensor::share(&tensor)));
  Object packed = own(PyObject_CallOneArg(pack, given.get()));
  if (tensor.version().load() != version)
    raise(ErrorKind::Runtime,
          "a pack hook of saved tensors changed its argument in place: others still use that tensor.\n"
          "Return a changed copy from the hook.");
  return Ref<PackedTensor>::adopt(new PythonPacked(packed.get(), unpack));
}

Ref<PackedTensor> pack_innermost(TensorImpl& tensor) {
  HoldGil gil;
  const HookPair hooks = default_hooks().stack.back();
  return pack_by(hooks.pack.get(), hooks.unpack.get(), tensor);
}

// ------------------------------------------------------------------- the stack of default hooks

PyObject* push_hooks(PyObject*, PyObject* args) {
  PyObject *pack, *unpack;
  if (!PyArg_ParseTuple(args, "OO:_push_saved_tensors_hooks", &pack, &unpack)) return nullptr;
  return guarded([&] {
    for (PyObject* hook : {pack, unpack})
      if (!PyCallable_Check(hook))
        raise(ErrorKind::Type, "saved_tensors_hooks takes two functions, pack and unpack; one is a %s",
              Py_TYPE(hook)->tp_name);
    pass_boundary("saved_tensors_hooks");
    DefaultHooks& hooks = default_hooks();
    if (hooks.disabled) raise(ErrorKind::Runtime, "%s", PyUnicode_AsUTF8(hooks.disabled.get()));
    hooks.stack.push_back({Object::borrow(pack), Object::borrow(unpack)});
    thread_state.packs_saved_tensors = true;
    return none();
  });
}

PyObject* pop_hooks(PyObject*, PyObject*) {
  return guarded([] {
    DefaultHooks& hooks = default_hooks();
    if (hooks.stack.empty()) raise(ErrorKind::Runtime, "no hooks of saved tensors are installed");
    hooks.stack.pop_back();
    thread_state.packs_saved_tensors = !hooks.stack.empty();
    return none();
  });
}

PyObject* top_hooks(PyObject*, PyObject*) {
  return guarded([]() -> PyObject* {
    const auto& stack = default_hooks().stack;
    if (stack.empty()) return none();
    return PyTuple_Pack(2, stack.back().pack.get(), stack.back().unpack.get());
  });
}

// _disable_saved_tensors_hooks(message or None): returns the message that was set before.
PyObject* disable_hooks(PyObject*, PyObject* message) {
  return guarded([&] {
    DefaultHooks& hooks = default_hooks();
    if (message != Py_None) {
      if (!PyUnicode_Check(message)) raise(ErrorKind::Type, "the message must be a str");
      if (!hooks.stack.empty()) raise(ErrorKind::Runtime, "%s", PyUnicode_AsUTF8(message));
    }
    Object previous = std::exchange(hooks.disabled, message == Py_None ? Object() : Object::borrow(message));
    return previous ? previous.leak() : none();
  });
}

// ---------------------------------------------------------------------- watching in-place writes

// Calls `function(tensor)` before an op of this thread writes to a tensor.
struct WriteWatcher {
  Object function;
  std::thread::id thread = std::this_thread::get_id();
  int token = 0;
};

void watch(const OpCall& call, Key, void* context) {
  auto& watcher = *static_cast<WriteWatcher*>(context);
  if (watcher.thread != std::this_thread::get_id()) return;
  const auto& arguments = call.op->schema.arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].written) continue;
    const Value& value = call.args[i];
    HoldGil gil;
    const auto tell = [&](TensorImpl* tensor) {
      Object given = own(wrap(Tensor::share(tensor)));
      own(PyObject_CallOneArg(watcher.function.get(), given.get()));
    };
    if (value.tag == Tag::Tensor) tell(value.tensor);
    if (is_tensor_list(value))
      for (TensorImpl* tensor : value.list()) tell(tensor);
  }
}
void ignore(const OpCall&, Key, bool, void*) {}

void end_watching(PyObject* capsule) {
  auto* watcher = static_cast<WriteWatcher*>(PyCapsule_GetPointer(capsule, "write watcher"));
  remove_dispatch_observer(watcher->token);
  delete watcher;
}

PyObject* watch_writes(PyObject*, PyObject* function) {
  return guarded([&] {
    auto* watcher = new WriteWatcher{Object::borrow(function)};
    watcher->token = add_dispatch_observer({watch, ignore, watcher});
    return checked(PyCapsule_New(watcher, "write watcher", end_watching));
  });
}

// ----------------------------------------------------------------------- _raw_saved_self and such

struct SavedTensorObject {
  PyObject_HEAD Node* node;  // owned
  size_t argument, element;
};
PyTypeObject saved_tensor_type = {PyVarObject_HEAD_INIT(nullptr, 0)};

void deallocate(PyObject* self) {
  Ref<Node>::adopt(reinterpret_cast<SavedTensorObject*>(self)->node);
  Py_TYPE(self)->tp_free(self);
}

void refuse_hooks(bool freed, bool packed, bool none) {
  if (freed)
    raise(ErrorKind::Runtime,
          "register_hooks was called on a saved tensor that has been freed: backward frees what was saved.\n"
          "Call it before, or pass retain_graph=True to backward().");
  if (packed)
    raise(ErrorKind::Runtime,
          "register_hooks was called on a saved tensor that has hooks already: one pair is allowed");
  if (none) raise(ErrorKind::Runtime, "register_hooks was called on a saved value that is None");
}

PyObject* register_hooks(PyObject* self, PyObject* args) {
  PyObject *pack, *unpack;
  if (!PyArg_ParseTuple(args, "OO:register_hooks", &pack, &unpack)) return nullptr;
  return guarded([&] {
    const auto& place = *reinterpret_cast<SavedTensorObject*>(self);
    if (auto* function = dynamic_cast<FunctionNode*>(place.node)) {
      if (function->released || place.argument >= function->saved.size()) refuse_hooks(true, false, false);
      SavedTensor& slot = function->saved[place.argument];
      refuse_hooks(false, static_cast<bool>(slot.packed.packed), !slot.tensor);
      slot.packed = pack_slot(*slot.tensor, slot.output, pack_by(pack, unpack, *slot.tensor));
      slot.tensor = {};
      return none();
    }
    auto& node = static_cast<OpNode&>(*place.node);
    refuse_hooks(node.released, node.packed_slot(place.argument, place.element), false);
    const Tensor tensor = node.unpack(place.argument, place.element);
    refuse_hooks(false, false, !tensor);
    const Value& value = node.saved[place.argument];
    const int32_t own_result = is_tensor_list(value) ? -1 : result_number(value);
    node.pack(place.argument, place.element, pack_slot(*tensor, own_result, pack_by(pack, unpack, *tensor)));
    return none();
  });
}

// The packed value of a saved tensor with hooks; null without hooks.
const PythonPacked* packed_by_hooks(const SavedTensorObject& place) {
  if (auto* function = dynamic_cast<FunctionNode*>(place.node)) {
    if (function->released || place.argument >= function->saved.size()) return nullptr;
    return dynamic_cast<const PythonPacked*>(function->saved[place.argument].packed.packed.get());
  }
  const PackedSlot* slot = static_cast<OpNode&>(*place.node).packed_slot(place.argument, place.element);
  return slot ? dynamic_cast<const PythonPacked*>(slot->packed.get()) : nullptr;
}

PyObject* unpack(PyObject* self, PyObject*) {
  return guarded([&]() -> PyObject* {
    const auto& place = *reinterpret_cast<SavedTensorObject*>(self);
    auto* function = dynamic_cast<FunctionNode*>(place.node);
    if (!function) return wrap_or_none(static_cast<OpNode&>(*place.node).unpack(place.argument, place.element));
    if (function->released || place.argument >= function->saved.size())
      raise(ErrorKind::Runtime,
            "unpack was called on a saved tensor that has been freed: backward frees what was saved.\n"
            "Call it before, or pass retain_graph=True to backward().");
    return wrap_or_none(function->unpack(function->saved[place.argument]));
  });
}

PyObject* get_data(PyObject* self, void*) {
  if (const PythonPacked* packed = packed_by_hooks(*reinterpret_cast<SavedTensorObject*>(self)))
    return Py_NewRef(packed->value.get());
  return unpack(self, nullptr);
}

PyObject* get_unpack_hook(PyObject* self, void*) {
  const PythonPacked* packed = packed_by_hooks(*reinterpret_cast<SavedTensorObject*>(self));
  return Py_NewRef(packed ? packed->hook.get() : Py_None);
}

PyGetSetDef saved_tensor_properties[] = {
    {"data", get_data, nullptr, "The saved tensor, or what the pack hook returned for it.", nullptr},
    {"unpack_hook", get_unpack_hook, nullptr, "The hook that returns the tensor, or None.", nullptr},
    {},
};

PyMethodDef saved_tensor_methods[] = {
    {"register_hooks", register_hooks, METH_VARARGS,
     "register_hooks(pack, unpack): saves pack(tensor) in place of the tensor; unpack restores it."},
    {"unpack", unpack, METH_NOARGS, "unpack(): the tensor as it was saved."},
    {},
};

PyMethodDef functions[] = {
    {"_push_saved_tensors_hooks", push_hooks, METH_VARARGS, "_push_saved_tensors_hooks(pack, unpack)"},
    {"_pop_saved_tensors_hooks", pop_hooks, METH_NOARGS, nullptr},
    {"_top_saved_tensors_hooks", top_hooks, METH_NOARGS, "The innermost (pack, unpack), or None."},
    {"_watch_writes", watch_writes, METH_O,
     "_watch_writes(function): function(tensor) runs before an op of this thread writes to a tensor, as long as\n"
     "the returned object lives."},
    {"_disable_saved_tensors_hooks", disable_hooks, METH_O, "_disable_saved_tensors_hooks(message or None)"},
    {},
};

}  // namespace

PyObject* raw_saved_object(Ref<Node> node, size_t argument, size_t element) {
  auto* self = reinterpret_cast<SavedTensorObject*>(checked(saved_tensor_type.tp_alloc(&saved_tensor_type, 0)));
  self->node = node.leak();
  self->argument = argument;
  self->element = element;
  return reinterpret_cast<PyObject*>(self);
}

void add_saved_hooks(PyObject* module) {
  saved_tensor_type.tp_name = "pellucid._C.SavedTensor";
  saved_tensor_type.tp_doc = "A tensor saved by a node; takes hooks.";
  saved_tensor_type.tp_basicsize = sizeof(SavedTensorObject);
  saved_tensor_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
  saved_tensor_type.tp_methods = saved_tensor_methods;
  saved_tensor_type.tp_getset = saved_tensor_properties;
  saved_tensor_type.tp_dealloc = deallocate;
  checked(PyType_Ready(&saved_tensor_type));
  checked(PyModule_AddObjectRef(module, "SavedTensor", reinterpret_cast<PyObject*>(&saved_tensor_type)));
  checked(PyModule_AddFunctions(module, functions));
  pack_with_hooks = pack_innermost;
}

}  // namespace pellucid::python
