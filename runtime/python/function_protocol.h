// The __torch_function__ protocol: modes, subclasses and foreign types that handle calls themselves.
#pragma once

#include <span>

#include "python/tensor_object.h"

namespace pellucid::python {

// How an op treats an object given for a tensor.
enum class TensorKind : uint8_t {
  Tensor,     // as a tensor
  Overrides,  // passes the whole call to the object's __torch_function__
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
// Whether a TorchFunctionMode is active in this thread. Every call goes to it first.
inline bool function_modes_active() { return num_function_modes != 0 && function_modes_of_this_thread(); }

// Whether a tensor's class inherits Tensor's own implementation, which runs the call as for plain tensors and converts
// its results to the class.
bool inherits_default_protocol(PyTypeObject* type);

// In this scope, subclasses are treated as plain tensors.
class ReadAsPlainTensors {
 public:
  ReadAsPlainTensors();
  ~ReadAsPlainTensors();
  ReadAsPlainTensors(const ReadAsPlainTensors&) = delete;
  ReadAsPlainTensors& operator=(const ReadAsPlainTensors&) = delete;
};

// Converts the tensors in the result of a call of `function` to the subclass `type`.
PyObject* convert_result(Object result, PyTypeObject* type, PyObject* function);

// Passes the call to the modes, then to the overriding arguments (subclasses before their bases, then from left to
// right). `self` may be null; `function` is the public callable. As in PyTorch, `kwargs` is absent for a builtin
// function without keywords (`keywords` null) and an empty dict for a Python function (`no_keywords`).
PyObject* call_override(PyObject* function, PyObject* self, PyObject* const* args, Py_ssize_t count,
                        PyObject* keywords);
PyObject* no_keywords();  // borrowed: the empty tuple
// The same of a tuple and a dict, or null, of arguments.
PyObject* call_override(PyObject* function, PyObject* positional, PyObject* kwargs);

// Called first by Tensor's slots (`len(x)`, `float(x)`, `x[i]`), which are reached without an attribute lookup.
bool slot_is_overridden(PyObject* self);
// Passes a slot's call to modes and overrides as a call of Tensor's method of this name.
PyObject* call_slot_override(const char* method, std::span<PyObject* const> arguments);

void add_function_protocol(PyObject* module);

}  // namespace pellucid::python
