// Single arguments: Python objects to numbers, lists and handles. Used by parse (arguments.cpp).
#include "python/convert.h"

#include <cstring>

#include "core/layout.h"
#include "python/generator_object.h"
#include "python/numbers.h"
#include "python/types.h"

namespace pellucid::python {
namespace {

bool is_numpy_scalar(PyObject* object) {
  const char* name = Py_TYPE(object)->tp_name;
  const PyNumberMethods* number = Py_TYPE(object)->tp_as_number;
  return std::strncmp(name, "numpy.", 6) == 0 && std::strcmp(name, "numpy.ndarray") != 0 && number && number->nb_float;
}

// PyTorch's error for an integer beyond 64 bits depends on the parameter's type.
int64_t integer_value(PyObject* integer, PyObject* overflow_type) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (!overflow) return value;
  PyErr_SetString(overflow_type, "a number does not fit into 64 bits: integers must be in -2**63 .. 2**63-1");
  raise_python();
}

bool tensor_to_number(PyObject* object, Value& out, ArgumentMemory& memory) {
  TensorImpl& tensor = *tensor_of(object);
  if (tensor.ndim != 0 || tensor.requires_grad() || tensor.wrapper || tensor.device.type == DeviceType::Meta)
    return false;
  const Scalar scalar = read_scalar(tensor, 0);
  out = scalar.value;
  if (scalar.value.tag == Tag::Complex) {
    Complex* complex = memory.take<Complex>(1);
    *complex = scalar.complex;
    out.complex = complex;
  }
  return true;
}

bool numpy_to_number(PyObject* object, Value& out, ArgumentMemory& memory) {
  const char* name = Py_TYPE(object)->tp_name + 6;
  if (std::strncmp(name, "bool", 4) == 0) {
    const int truth = PyObject_IsTrue(object);
    checked(truth);
    return out = Value::of_bool(truth), true;
  }
  if (std::strncmp(name, "complex", 7) == 0) {
    const Py_complex number = PyComplex_AsCComplex(object);
    if (PyErr_Occurred()) raise_python();
    Complex* complex = memory.take<Complex>(1);
    *complex = {number.real, number.imag};
    out = Value();
    out.tag = Tag::Complex;
    out.complex = complex;
    return true;
  }
  if (PyIndex_Check(object)) {
    Object integer = own(PyNumber_Index(object));
    return out = Value::of_int(integer_value(integer.get(), PyExc_OverflowError)), true;
  }
  const double number = PyFloat_AsDouble(object);
  if (number == -1 && PyErr_Occurred()) raise_python();
  return out = Value::of_float(number), true;
}

}  // namespace

bool to_number_slowly(PyObject* object, Value& out, ArgumentMemory& memory) {
  if (PyFloat_Check(object)) return out = Value::of_float(PyFloat_AS_DOUBLE(object)), true;
  if (PyLong_Check(object)) return out = Value::of_int(integer_value(object, PyExc_OverflowError)), true;
  if (PyComplex_Check(object)) {
    Complex* complex = memory.take<Complex>(1);
    *complex = {PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)};
    out = Value();
    out.tag = Tag::Complex;
    out.complex = complex;
    return true;
  }
  if (is_tensor(object)) return tensor_to_number(object, out, memory);
  return is_numpy_scalar(object) && numpy_to_number(object, out, memory);
}

bool to_integer_slowly(PyObject* object, int64_t& out, PyObject* overflow_type) {
  if (PyBool_Check(object)) return false;
  if (PyLong_Check(object)) return out = integer_value(object, overflow_type), true;
  if (is_tensor(object)) {
    const TensorImpl& tensor = *tensor_of(object);
    if (tensor.numel != 1 || category(tensor.dtype) != DTypeCategory::Integral) return false;
  } else if (!is_numpy_scalar(object) || !PyIndex_Check(object)) {
    return false;
  }
  Object integer = own(PyNumber_Index(object));
  return out = integer_value(integer.get(), overflow_type), true;
}

bool to_integers(PyObject* object, int list_size, Value& out, ArgumentMemory& memory) {
  if (PyTuple_Check(object) || PyList_Check(object)) {
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    int64_t* integers = memory.take<int64_t>(static_cast<size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      PyObject* item = PySequence_Fast_GET_ITEM(object, i);
      if (!is_small_integer(item, integers[i]) && !to_integer_slowly(item, integers[i], PyExc_TypeError)) return false;
    }
    return out = Value::of(std::span<const int64_t>(integers, static_cast<size_t>(count))), true;
  }
  int64_t one;
  if (list_size == 0 || !to_integer(object, one)) return false;
  int64_t* integers = memory.take<int64_t>(static_cast<size_t>(list_size));
  std::fill_n(integers, list_size, one);
  out = Value::of(std::span<const int64_t>(integers, static_cast<size_t>(list_size)));
  out.broadcast_list = true;
  return true;
}

bool to_floats(PyObject* object, int list_size, Value& out, ArgumentMemory& memory) {
  const bool is_list = PyTuple_Check(object) || PyList_Check(object);
  if (!is_list && list_size == 0) return false;
  const Py_ssize_t count = is_list ? PySequence_Fast_GET_SIZE(object) : list_size;
  double* numbers = memory.take<double>(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    Value number;
    if (!to_number(is_list ? PySequence_Fast_GET_ITEM(object, i) : object, number, memory)) return false;
    if (number.tag == Tag::Complex) return false;
    numbers[i] = number.as_double();
  }
  out.tag = Tag::FloatList;
  out.length = static_cast<uint32_t>(count);
  out.numbers = numbers;
  return true;
}

bool to_bools(PyObject* object, Value& out, ArgumentMemory& memory) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  int64_t* flags = memory.take<int64_t>(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, i);
    if (!PyBool_Check(item)) return false;
    flags[i] = item == Py_True;
  }
  out = Value::of(std::span<const int64_t>(flags, static_cast<size_t>(count)));
  out.tag = Tag::BoolList;
  return true;
}

bool to_numbers(PyObject* object, Value& out, ArgumentMemory& memory) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
  Value* numbers = memory.take<Value>(static_cast<size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!to_number(PySequence_Fast_GET_ITEM(object, i), numbers[i], memory)) return false;
  out.tag = Tag::ScalarList;
  out.length = static_cast<uint32_t>(count);
  out.values = numbers;
  return true;
}

bool to_handle(ArgType type, PyObject* object, Value& out) {
  out = Value();
  switch (type) {
    case ArgType::DType: {
      DType dtype;
      if (!to_dtype(object, dtype)) return false;
      return out = Value::of_dtype(dtype), true;
    }
    case ArgType::Device: {
      Device device;
      if (!to_device(object, device)) return false;
      out.tag = Tag::Device;
      return out.integer = encode_device(device), true;
    }
    case ArgType::Layout:
      if (Py_TYPE(object) != &layout_type) return false;
      out.tag = Tag::Layout;
      return out.integer = reinterpret_cast<ConstantObject*>(object)->value, true;
    case ArgType::MemoryFormat:
      if (Py_TYPE(object) != &memory_format_type) return false;
      out.tag = Tag::MemoryFormat;
      return out.integer = reinterpret_cast<ConstantObject*>(object)->value, true;
    case ArgType::Generator:
      if (!is_generator(object)) return false;
      out.tag = Tag::Generator;
      return out.object = generator_of(object), true;
    case ArgType::String: {
      if (!PyUnicode_Check(object)) return false;
      Py_ssize_t length = 0;
      out.string = PyUnicode_AsUTF8AndSize(object, &length);
      if (!out.string) raise_python();
      out.tag = Tag::String;
      return out.length = static_cast<uint32_t>(length), true;
    }
    default: out.tag = Tag::Object; return out.object = object, true;
  }
}

}  // namespace pellucid::python
