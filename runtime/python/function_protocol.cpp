#include "python/function_protocol.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/inline_vector.h"
#include "python/attribute_protocol.h"
#include "python/mode_stack.h"
#include "python/overridable.h"
#include "python/protocol_call.h"
#include "python/tensor_type.h"

namespace pellucid::python {

int num_function_modes = 0;

namespace {

// The number of scopes of this thread in which subclasses are treated as plain tensors.
constinit thread_local int disabled_depth __attribute__((tls_model("initial-exec"))) = 0;

ModeStack& mode_stack() {
  static thread_local ModeStack stack
      __attribute__((tls_model("initial-exec"))) ([](const ModeStack&, int by) { num_function_modes += by; });
  return stack;
}

int num_entered = 0;  // modes of all threads, running ones included; while it is not 0, attributes of plain tensors ask

void count_entered(int change) {
  const bool was_active = num_entered > 0;
  num_entered += change;
  if ((num_entered > 0) != was_active) ask_plain_tensors(!was_active);
}

PyObject* protocol_name = nullptr;
PyObject* disabled_implementation = nullptr;

PyObject* find_protocol(PyTypeObject* type) { return _PyType_Lookup(type, protocol_name); }

// The arguments with overrides, one of each class.
using Overriding = InlineVector<PyObject*, 8>;

void collect(PyObject* object, Overriding& overriding) {
  if (PyList_Check(object) || PyTuple_Check(object)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
      collect(PySequence_Fast_GET_ITEM(object, i), overriding);
    return;
  }
  if (!overrides(object)) return;
  for (PyObject* other : overriding)
    if (Py_TYPE(other) == Py_TYPE(object)) return;
  const auto before = std::find_if(overriding.begin(), overriding.end(),
                                   [&](PyObject* other) { return PyType_IsSubtype(Py_TYPE(object), Py_TYPE(other)); });
  overriding.insert(before, object);
}

// The arguments of the methods; `kwargs` is null if the method uses its default.
struct Call {
  Object args, kwargs, types;
};

void collect_all(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords, Overriding& overriding) {
  if (self) collect(self, overriding);
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < count + named; ++i) collect(args[i], overriding);
}

Call pack_call(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords,
               const Overriding& overriding) {
  Call call;
  call.args = own(PyTuple_New(count + (self ? 1 : 0)));
  Py_ssize_t next = 0;
  if (self) PyTuple_SET_ITEM(call.args.get(), next++, new_reference(self));
  for (Py_ssize_t i = 0; i < count; ++i) PyTuple_SET_ITEM(call.args.get(), next++, new_reference(args[i]));
  if (keywords) call.kwargs = own(PyDict_New());
  for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); ++i) {
    checked(PyDict_SetItem(call.kwargs.get(), PyTuple_GET_ITEM(keywords, i), args[count + i]));
  }
  call.types = own(PyTuple_New(static_cast<Py_ssize_t>(overriding.size())));
  for (size_t i = 0; i < overriding.size(); ++i)
    PyTuple_SET_ITEM(call.types.get(), static_cast<Py_ssize_t>(i),
                     new_reference(reinterpret_cast<PyObject*>(Py_TYPE(overriding[i]))));
  return call;
}

// An object whose override is handling a call of `function`. An override that makes the same call again, like that of
// an installed PyTorch's tensors, would recurse infinitely.
class ActiveOverride {
 public:
  ActiveOverride(PyObject* function, PyObject* object) : function_(function), object_(object), outer_(innermost_) {
    constexpr int kMostTimes = 3;  // a class may retry in a different state
    int times = 0;
    for (const ActiveOverride* call = outer_; call; call = call->outer_)
      times += call->function_ == function && call->object_ == object;
    if (times >= kMostTimes) raise_unknown_function(function, Py_TYPE(object)->tp_name);
    innermost_ = this;
  }
  ~ActiveOverride() { innermost_ = outer_; }
  ActiveOverride(const ActiveOverride&) = delete;
  ActiveOverride& operator=(const ActiveOverride&) = delete;

  [[noreturn]] static void raise_unknown_function(PyObject* function, const char* type) {
    Object name = own(PyObject_Repr(function));
    raise(ErrorKind::Type,
          "%s does not know tensors of type %s: they belong to another library\nconvert them first, "
          "for example with from_dlpack() or through NumPy",
          PyUnicode_AsUTF8(name.get()), type);
  }

 private:
  static constinit thread_local const ActiveOverride* innermost_ __attribute__((tls_model("initial-exec")));
  PyObject* function_;
  PyObject* object_;
  const ActiveOverride* outer_;
};
constinit thread_local const ActiveOverride* ActiveOverride::innermost_ = nullptr;

// `owner`: a mode, or the class of an argument.
Object ask(PyObject* owner, PyObject* function, const Call& call) {
  PyObject* const arguments[] = {owner, function, call.types.get(), call.args.get(), call.kwargs.get()};
  return call_protocol(protocol_name, {arguments, call.kwargs ? 5u : 4u});
}

// The type of bound slots such as `Tensor.grad.__get__`; not every CPython exports its name.
PyTypeObject* bound_slot_type() {
  static PyTypeObject* const type = Py_TYPE(own(PyObject_GetAttrString(Py_None, "__str__")).get());
  return type;
}

// Calls `function` while subclasses are treated as plain tensors.
Object call_disabled(PyObject* function, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const ReadAsPlainTensors scope;
  return own(PyObject_Vectorcall(function, args, static_cast<size_t>(count), keywords));
}

// Whether the first class inherits Tensor's own implementation and is a subclass of the others. Then the call is made
// directly, without a tuple and a dict of its arguments.
bool is_served_by_default(const Overriding& overriding) {
  if (overriding.empty()) return false;
  PyTypeObject* type = Py_TYPE(overriding[0]);
  if (!inherits_default_protocol(type)) return false;
  return std::ranges::all_of(overriding, [&](PyObject* other) { return PyType_IsSubtype(type, Py_TYPE(other)); });
}

PyObject* call_default(PyTypeObject* type, PyObject* function, PyObject* self, PyObject* const* args, Py_ssize_t count,
                       PyObject* keywords) {
  if (!self) return convert_result(call_disabled(function, args, count, keywords), type, function);
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  std::vector<PyObject*> all{self};
  all.insert(all.end(), args, args + count + named);
  return convert_result(call_disabled(function, all.data(), count + 1, keywords), type, function);
}

// The default of Tensor subclasses: runs the function as for plain tensors, results become `cls`.
PyObject* default_implementation(PyObject* cls, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *function, *types, *arguments = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTuple(args, "OO|OO:__torch_function__", &function, &types, &arguments, &kwargs)) return nullptr;
    for (Py_ssize_t i = 0; PyTuple_Check(types) && i < PyTuple_GET_SIZE(types); ++i) {
      const int related = PyObject_IsSubclass(cls, PyTuple_GET_ITEM(types, i));
      checked(related);
      if (!related) return new_reference(Py_NotImplemented);
    }
    Object positional = arguments ? Object::borrow(arguments) : own(PyTuple_New(0));
    // This library's functions do not call __torch_function__ in such a scope; another library's may, and recurse.
    thread_local PyObject* running = nullptr;
    if (running == function)
      ActiveOverride::raise_unknown_function(function, reinterpret_cast<PyTypeObject*>(cls)->tp_name);
    PyObject* outer = std::exchange(running, function);
    ++disabled_depth;
    Object result = Object::steal(PyObject_Call(function, positional.get(), kwargs == Py_None ? nullptr : kwargs));
    --disabled_depth;
    running = outer;
    if (!result) raise_python();
    return convert_result(std::move(result), reinterpret_cast<PyTypeObject*>(cls), function);
  });
}

PyObject* run_disabled(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *function, *types, *arguments = nullptr, *kwargs = nullptr;
    if (!PyArg_ParseTuple(args, "OO|OO:_disabled_torch_function_impl", &function, &types, &arguments, &kwargs))
      return nullptr;
    Object positional = arguments ? Object::borrow(arguments) : own(PyTuple_New(0));
    ++disabled_depth;
    PyObject* result = PyObject_Call(function, positional.get(), kwargs == Py_None ? nullptr : kwargs);
    --disabled_depth;
    return result;
  });
}

PyObject* change_disabled_depth(PyObject*, PyObject* change) {
  const long by = PyLong_AsLong(change);
  if (by == -1 && PyErr_Occurred()) return nullptr;
  disabled_depth += static_cast<int>(by);
  return PyLong_FromLong(disabled_depth);
}

PyObject* push_mode(PyObject*, PyObject* mode) {
  mode_stack().put(new_reference(mode));
  count_entered(1);
  Py_RETURN_NONE;
}

PyObject* pop_mode(PyObject*, PyObject*) {
  if (mode_stack().empty()) {
    PyErr_SetString(PyExc_RuntimeError, "no function mode is active");
    return nullptr;
  }
  count_entered(-1);
  return mode_stack().take();
}

PyObject* list_modes(PyObject*, PyObject*) {
  return guarded([] { return mode_stack().as_list(); });
}

// _take_torch_function_modes(): removes all modes of this thread and returns them, outermost first.
PyObject* take_all_modes(PyObject*, PyObject*) {
  return guarded([] {
    Object list = own(PyList_New(0));
    while (!mode_stack().empty()) {
      Object mode = own(mode_stack().take());
      count_entered(-1);
      checked(PyList_Insert(list.get(), 0, mode.get()));
    }
    return list.leak();
  });
}

PyObject* has_override(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return PyBool_FromLong(call_is_overridden({args, static_cast<size_t>(count)}));
}

PyObject* call_override_from_python(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *function, *positional, *kwargs;
    if (!PyArg_ParseTuple(args, "OO!O!:_call_torch_function", &function, &PyTuple_Type, &positional, &PyDict_Type,
                          &kwargs))
      return nullptr;
    return call_override(function, positional, kwargs);
  });
}

PyMethodDef tensor_methods[] = {
    {"__torch_function__", default_implementation, METH_VARARGS | METH_CLASS,
     "__torch_function__(cls, func, types, args=(), kwargs=None): how subclasses see calls."},
    {},
};

PyMethodDef functions[] = {
    {"_disabled_torch_function_impl", run_disabled, METH_VARARGS,
     "A __torch_function__ for subclasses that ops treat as plain tensors."},
    {"_change_torch_function_depth", change_disabled_depth, METH_O,
     "Adds to the number of scopes in which subclasses are treated as plain tensors."},
    {"_push_torch_function_mode", push_mode, METH_O, nullptr},
    {"_pop_torch_function_mode", pop_mode, METH_NOARGS, nullptr},
    {"_torch_function_modes", list_modes, METH_NOARGS, "The modes in force in this thread, the innermost last."},
    {"_take_torch_function_modes", take_all_modes, METH_NOARGS, "Removes all modes of this thread and returns them."},
    {"_has_torch_function", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(has_override)), METH_FASTCALL,
     "Whether a call with these arguments belongs to a mode or to an argument's __torch_function__."},
    {"_call_torch_function", call_override_from_python, METH_VARARGS,
     "_call_torch_function(func, args, kwargs): passes the call to modes and overriding arguments."},
    {},
};

}  // namespace

bool overrides(PyObject* object) {
  if (disabled_depth > 0 || is_plain_tensor(object)) return false;
  PyObject* found = find_protocol(Py_TYPE(object));
  return found && found != disabled_implementation;
}

TensorKind classify_slowly(PyObject* object) {
  if (overrides(object)) return TensorKind::Overrides;
  return is_tensor(object) ? TensorKind::Tensor : TensorKind::Foreign;
}

bool inherits_default_protocol(PyTypeObject* type) { return find_protocol(type) == find_protocol(&tensor_base_type); }

ReadAsPlainTensors::ReadAsPlainTensors() { ++disabled_depth; }
ReadAsPlainTensors::~ReadAsPlainTensors() { --disabled_depth; }

PyObject* convert_result(Object result, PyTypeObject* type, PyObject* function) {
  const bool is_sequence = PyTuple_Check(result.get()) || PyList_Check(result.get());
  if (!is_exact_tensor(result.get()) && !is_sequence) return result.leak();
  const bool is_read = Py_TYPE(function) == bound_slot_type();  // reads of some attributes give plain tensors
  if (!is_sequence && !is_read) return type == tensor_type ? result.leak() : convert_to_type(type, std::move(result));
  static LateImport convert("pellucid._tensor.subclasses", "convert_result");
  PyObject* arguments[] = {result.get(), reinterpret_cast<PyObject*>(type), function};
  return checked(PyObject_Vectorcall(convert.get(), arguments, 3, nullptr));
}

bool function_modes_of_this_thread() { return !mode_stack().empty(); }

PyObject* call_override(PyObject* function, PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords) {
  Overriding overriding;
  collect_all(self, args, count, keywords, overriding);
  const bool has_modes = function_modes_active();
  if (!has_modes && is_served_by_default(overriding))
    return call_default(Py_TYPE(overriding[0]), function, self, args, count, keywords);
  const Call call = pack_call(self, args, count, keywords, overriding);
  if (has_modes) {
    const RunningMode mode(mode_stack());  // the mode's own calls go to the outer modes
    Object result = ask(mode.get(), function, call);
    if (result.get() != Py_NotImplemented) return result.leak();
  }
  for (PyObject* object : overriding) {
    const ActiveOverride active(function, object);
    Object result = ask(reinterpret_cast<PyObject*>(Py_TYPE(object)), function, call);
    if (result.get() != Py_NotImplemented) return result.leak();
  }
  Object types = own(PyObject_Repr(call.types.get()));
  raise(ErrorKind::Type, "no __torch_function__ of the argument types %s accepts the call: all returned NotImplemented",
        PyUnicode_AsUTF8(types.get()));
}

PyObject* no_keywords() {
  static PyObject* const names = checked(PyTuple_New(0));
  return names;
}

PyObject* call_override(PyObject* function, PyObject* positional, PyObject* kwargs) {
  std::vector<PyObject*> items;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positional); ++i) items.push_back(PyTuple_GET_ITEM(positional, i));
  const Py_ssize_t count = static_cast<Py_ssize_t>(items.size());
  if (!kwargs) return call_override(function, nullptr, items.data(), count, nullptr);
  Object names = own(PySequence_Tuple(kwargs));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names.get()); ++i)
    items.push_back(PyDict_GetItem(kwargs, PyTuple_GET_ITEM(names.get(), i)));
  return call_override(function, nullptr, items.data(), count, names.get());
}

bool call_is_overridden(std::span<PyObject* const> arguments) {
  if (function_modes_active()) return true;
  for (PyObject* argument : arguments) {
    if (is_plain_tensor(argument)) continue;
    if (overrides(argument)) return true;
    if (!PyList_Check(argument) && !PyTuple_Check(argument)) continue;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(argument); ++k)
      if (overrides(PySequence_Fast_GET_ITEM(argument, k))) return true;
  }
  return false;
}

bool slot_is_overridden(PyObject* self) { return function_modes_active() || overrides(self); }

PyObject* call_slot_override(const char* method, std::span<PyObject* const> arguments) {
  Object function = own(PyObject_GetAttrString(reinterpret_cast<PyObject*>(&tensor_base_type), method));
  return call_override(function.get(), nullptr, arguments.data(), static_cast<Py_ssize_t>(arguments.size()), nullptr);
}

void add_function_protocol(PyObject* module) {
  protocol_name = checked(PyUnicode_InternFromString("__torch_function__"));
  add_tensor_methods(tensor_methods);
  checked(PyModule_AddFunctions(module, functions));
  disabled_implementation = checked(PyObject_GetAttrString(module, "_disabled_torch_function_impl"));
}

}  // namespace pellucid::python
