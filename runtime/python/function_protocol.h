// The __torch_function__ protocol: subclasses and foreign types that want to see calls themselves.
#pragma once

#include <span>

#include "python/tensor_object.h"

namespace pellucid::python {

// What an op does with an argument in a tensor's place.
enum class TensorKind : uint8_t {
  Tensor,     // reads it
  Overrides,  // hands the whole call to the argument's __torch_function__
  Foreign,    // refuses it
};

// Whether the class of an object overrides __torch_function__.
bool overrides(PyObject* object);

// For objects that are not plain tensors.
TensorKind classify_slowly(PyObject* object);

inline TensorKind classify(PyObject* object) {
  return is_plain_tensor(object) ? TensorKind::Tensor : classify_slowly(object);
}

// Function modes of all threads; changes under the interpreter lock.
extern int num_function_modes;
bool function_modes_of_this_thread();
// A TorchFunctionMode is active in this thread: every call goes to it first.
inline bool function_modes_active() { return num_function_modes != 0 && function_modes_of_this_thread(); }

// Whether a tensor's class inherits Tensor's own implementation: the call runs as for plain tensors, and
// its results become objects of the class.
bool inherits_default_protocol(PyTypeObject* type);

// Subclasses are read as plain tensors in this scope.
class ReadAsPlainTensors {
 public:
  ReadAsPlainTensors();
  ~ReadAsPlainTensors();
  ReadAsPlainTensors(const ReadAsPlainTensors&) = delete;
  ReadAsPlainTensors& operator=(const ReadAsPlainTensors&) = delete;
};

// What a call of `function` returned, as objects of the subclass `type`.
PyObject* convert_result(Object result, PyTypeObject* type, PyObject* function);

// Gives the call to the modes, then to the overriding arguments (subclasses before their bases, then
// from left to right). `self` may be null; `function` is the public callable. As in PyTorch, a call of a builtin
// function without keywords (null) has no `kwargs`, one of a function in Python (`no_keywords`) an empty dict.
PyObject* call_override(PyObject* function, PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords);
PyObject* no_keywords();  // borrowed: the empty tuple
// The same of a tuple and a dict, or null, of arguments.
PyObject* call_override(PyObject* function, PyObject* positional, PyObject* kwargs);

// What the slots of Tensor ask first (`len(x)`, `float(x)`, `x[i]`): nobody looks an attribute up there.
bool slot_is_overridden(PyObject* self);
// The call given away as that of Tensor's method of this name.
PyObject* call_slot_override(const char* method, std::span<PyObject* const> arguments);

void add_function_protocol(PyObject* module);

}  // namespace pellucid::python
