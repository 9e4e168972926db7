// Conversions of single arguments; the frequent cases are inline. False: the object does not fit.
#pragma once

#include "python/arguments.h"

namespace pellucid::python {

bool to_number_slowly(PyObject* object, Value& out, ArgumentMemory& memory);
bool to_integer_slowly(PyObject* object, int64_t& out, PyObject* overflow_type = PyExc_ValueError);

// A Python int of at most one digit (30 bits), which is nearly all of them.
inline bool is_small_integer(PyObject* object, int64_t& out) {
  if (!PyLong_CheckExact(object)) return false;
#if PY_VERSION_HEX >= 0x030C0000
  auto* number = reinterpret_cast<PyLongObject*>(object);
  if (!PyUnstable_Long_IsCompact(number)) return false;
  out = PyUnstable_Long_CompactValue(number);
  return true;
#else
  const Py_ssize_t digits = Py_SIZE(object);
  if (digits < -1 || digits > 1) return false;
  out = digits * static_cast<int64_t>(reinterpret_cast<PyLongObject*>(object)->ob_digit[0]);
  return true;
#endif
}

// Integers of Python, NumPy or one-element tensors, but not bools.
inline bool to_integer(PyObject* object, int64_t& out) {
  return is_small_integer(object, out) || to_integer_slowly(object, out);
}

// Exactly float, a small int or a bool.
inline bool to_plain_number(PyObject* object, Value& out) {
  int64_t integer;
  if (PyFloat_CheckExact(object)) return out = Value::of_float(PyFloat_AS_DOUBLE(object)), true;
  if (is_small_integer(object, integer)) return out = Value::of_int(integer), true;
  if (PyBool_Check(object)) return out = Value::of_bool(object == Py_True), true;
  return false;
}
// Python's numbers, NumPy's scalars, 0-d tensors that need no gradient.
inline bool to_number(PyObject* object, Value& out, ArgumentMemory& memory) {
  return to_plain_number(object, out) || to_number_slowly(object, out, memory);
}

// A tuple or list, or one value for all entries if `list_size` allows it.
bool to_integers(PyObject* object, int list_size, Value& out, ArgumentMemory& memory);
bool to_floats(PyObject* object, int list_size, Value& out, ArgumentMemory& memory);
bool to_bools(PyObject* object, Value& out, ArgumentMemory& memory);
bool to_numbers(PyObject* object, Value& out, ArgumentMemory& memory);
// dtype, device, layout, memory format, generator, string, any object.
bool to_handle(ArgType type, PyObject* object, Value& out);

}  // namespace pellucid::python
