#include "python/numbers.h"

#include <cmath>
#include <cstring>

#include "core/float8.h"
#include "core/number_range.h"
#include "core/recording.h"
#include "kernels/host_shadow.h"
#include "python/convert.h"

namespace pellucid::python {
namespace {

template <class T>
T load(const char* address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

template <class T>
void store(char* address, T value) {
  std::memcpy(address, &value, sizeof value);
}

Scalar of(const Value& value) { return {value, {0, 0}}; }
Scalar of(Complex complex) {
  Scalar scalar{Value(), complex};
  scalar.value.tag = Tag::Complex;
  return scalar;
}

template <DType dtype>
Scalar of_eighth(const char* address) {
  return of(Value::of_float(decode(load<typename ElementOf<dtype>::Type>(address))));
}

template <DType dtype>
void store_eighth(char* address, double value) {
  store(address, Float8Encoder<typename ElementOf<dtype>::Type>::of(static_cast<float>(value)));
}

Scalar read_element(const char* address, DType dtype) {
  switch (dtype) {
    case DType::Bool: return of(Value::of_bool(*address != 0));
    case DType::UInt8: return of(Value::of_int(load<uint8_t>(address)));
    case DType::Int8: return of(Value::of_int(load<int8_t>(address)));
    case DType::Int16: return of(Value::of_int(load<int16_t>(address)));
    case DType::Int32: return of(Value::of_int(load<int32_t>(address)));
    case DType::Int64: return of(Value::of_int(load<int64_t>(address)));
    case DType::Float16: return of(Value::of_float(half_to_float(load<uint16_t>(address))));
    case DType::BFloat16: return of(Value::of_float(bfloat16_to_float(load<uint16_t>(address))));
    case DType::Float32: return of(Value::of_float(load<float>(address)));
    case DType::Float64: return of(Value::of_float(load<double>(address)));
    case DType::Complex64: return of(Complex{load<float>(address), load<float>(address + 4)});
    case DType::Complex128: return of(load<Complex>(address));
    case DType::UInt16: return of(Value::of_int(load<uint16_t>(address)));
    case DType::UInt32: return of(Value::of_int(load<uint32_t>(address)));
    case DType::UInt64: return of(Value::of_int(load<int64_t>(address)));  // element_object() reads what is above
    case DType::Complex32:
      return of(Complex{half_to_float(load<uint16_t>(address)), half_to_float(load<uint16_t>(address + 2))});
    case DType::Float8e4m3fn: return of_eighth<DType::Float8e4m3fn>(address);
    case DType::Float8e4m3fnuz: return of_eighth<DType::Float8e4m3fnuz>(address);
    case DType::Float8e5m2: return of_eighth<DType::Float8e5m2>(address);
    case DType::Float8e5m2fnuz: return of_eighth<DType::Float8e5m2fnuz>(address);
    case DType::Float8e8m0fnu: return of_eighth<DType::Float8e8m0fnu>(address);
  }
  raise_without_values("item", dtype);
}

int64_t to_int64(const Scalar& scalar, DType dtype) {
  if (scalar.value.tag == Tag::Complex)
    raise(ErrorKind::Runtime, "a complex number cannot become %s", std::string(name(dtype)).c_str());
  if (scalar.value.tag != Tag::Float) return scalar.value.integer;
  const double number = scalar.value.number;
  // Like x86's conversion: numbers that do not fit become the smallest integer.
  if (!(number >= -0x1p63 && number < 0x1p63)) return INT64_MIN;
  return static_cast<int64_t>(number);
}

double to_double(const Scalar& scalar, DType dtype) {
  if (scalar.value.tag == Tag::Complex) {
    if (scalar.complex.imag != 0)
      raise(ErrorKind::Runtime, "a complex number with an imaginary part cannot become %s",
            std::string(name(dtype)).c_str());
    return scalar.complex.real;
  }
  return scalar.value.as_double();
}

Complex to_complex(const Scalar& scalar) {
  return scalar.value.tag == Tag::Complex ? scalar.complex : Complex{scalar.value.as_double(), 0};
}

bool to_bool(const Scalar& scalar) {
  switch (scalar.value.tag) {
    case Tag::Complex: return scalar.complex.real != 0 || scalar.complex.imag != 0;
    case Tag::Float: return scalar.value.number != 0;
    default: return scalar.value.integer != 0;
  }
}

void write_scalar(char* address, DType dtype, const Scalar& scalar) {
  switch (dtype) {
    case DType::Bool: return store<uint8_t>(address, to_bool(scalar));
    case DType::UInt8: return store(address, static_cast<uint8_t>(to_int64(scalar, dtype)));
    case DType::Int8: return store(address, static_cast<int8_t>(to_int64(scalar, dtype)));
    case DType::Int16: return store(address, static_cast<int16_t>(to_int64(scalar, dtype)));
    case DType::Int32: return store(address, static_cast<int32_t>(to_int64(scalar, dtype)));
    case DType::Int64: return store(address, to_int64(scalar, dtype));
    case DType::Float16: return store(address, float_to_half(static_cast<float>(to_double(scalar, dtype))));
    case DType::BFloat16: return store(address, float_to_bfloat16(static_cast<float>(to_double(scalar, dtype))));
    case DType::Float32: return store(address, static_cast<float>(to_double(scalar, dtype)));
    case DType::Float64: return store(address, to_double(scalar, dtype));
    case DType::Complex64: {
      const Complex value = to_complex(scalar);
      store(address, static_cast<float>(value.real));
      return store(address + 4, static_cast<float>(value.imag));
    }
    case DType::Complex128: return store(address, to_complex(scalar));
    case DType::UInt16: return store(address, static_cast<uint16_t>(to_int64(scalar, dtype)));
    case DType::UInt32: return store(address, static_cast<uint32_t>(to_int64(scalar, dtype)));
    case DType::UInt64: return store(address, to_int64(scalar, dtype));
    case DType::Complex32: {
      const Complex value = to_complex(scalar);
      store(address, float_to_half(static_cast<float>(value.real)));
      return store(address + 2, float_to_half(static_cast<float>(value.imag)));
    }
    case DType::Float8e4m3fn: return store_eighth<DType::Float8e4m3fn>(address, to_double(scalar, dtype));
    case DType::Float8e4m3fnuz: return store_eighth<DType::Float8e4m3fnuz>(address, to_double(scalar, dtype));
    case DType::Float8e5m2: return store_eighth<DType::Float8e5m2>(address, to_double(scalar, dtype));
    case DType::Float8e5m2fnuz: return store_eighth<DType::Float8e5m2fnuz>(address, to_double(scalar, dtype));
    case DType::Float8e8m0fnu: return store_eighth<DType::Float8e8m0fnu>(address, to_double(scalar, dtype));
  }
  raise(ErrorKind::Runtime, "elements of %s have no value: a number cannot become one",
        std::string(name(dtype)).c_str());
}

}  // namespace

float half_to_float(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3FF;
  if (exponent == 0) {
    const float value = std::ldexp(static_cast<float>(mantissa), -24);
    return sign ? -value : value;
  }
  const uint32_t wide = sign | (exponent == 31 ? 0x7F800000 : (exponent + 112) << 23) | mantissa << 13;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

uint16_t float_to_half(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7E00;
  if (magnitude >= 65520.0f) return sign | 0x7C00;
  if (magnitude < 0x1p-14f)  // subnormal: units of 2**-24, rounded to nearest even
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  const uint32_t rounded = (bits & 0x7FFFFFFF) + 0xFFF + (bits >> 13 & 1);
  return sign | static_cast<uint16_t>((rounded >> 13) - (112 << 10));
}

uint16_t float_to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  if (std::isnan(value)) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

Scalar read_scalar(TensorImpl& tensor, int64_t index) {
  if (tensor.device.type == DeviceType::Meta)
    raise(ErrorKind::Runtime, "a meta tensor has a shape but no elements: its values cannot be read");
  refuse_replay("a number is read from a tensor");
  const Tensor readable = on_host(tensor);
  return read_element(readable->host() + index * static_cast<int64_t>(item_size(tensor.dtype)), tensor.dtype);
}

PyObject* number_object(const Value& number) {
  switch (number.tag) {
    case Tag::Int: return checked(PyLong_FromLongLong(number.integer));
    case Tag::Float: return checked(PyFloat_FromDouble(number.number));
    case Tag::Bool: return PyBool_FromLong(number.integer != 0);
    case Tag::Complex: return checked(PyComplex_FromDoubles(number.complex->real, number.complex->imag));
    default: raise(ErrorKind::Runtime, "an op returned a value that Python has no type for");
  }
}

PyObject* element_object(const char* address, DType dtype) {
  if (dtype == DType::UInt64) return checked(PyLong_FromUnsignedLongLong(load<uint64_t>(address)));
  Scalar scalar = read_element(address, dtype);
  if (scalar.value.tag == Tag::Complex) scalar.value.complex = &scalar.complex;
  return number_object(scalar.value);
}

namespace {

// Floating-point dtypes accept integers beyond 64 bits, too.
Value integer_element(PyObject* integer, DType dtype) {
  int64_t value;
  if (is_small_integer(integer, value)) return Value::of_int(value);
  if (dtype == DType::UInt64) {
    const uint64_t wide = PyLong_AsUnsignedLongLong(integer);
    if (!PyErr_Occurred()) return Value::of_int(static_cast<int64_t>(wide));
    PyErr_Clear();
  }
  if (is_differentiable(dtype)) {
    const double number = PyLong_AsDouble(integer);
    if (number == -1 && PyErr_Occurred()) raise_python();
    return Value::of_float(number);
  }
  to_integer_slowly(integer, value);
  return Value::of_int(value);
}

}  // namespace

void write_element(char* address, DType dtype, PyObject* object) {
  Scalar scalar;
  ArgumentMemory memory;
  if (is_tensor(object)) {
    TensorImpl& tensor = *tensor_of(object);
    if (tensor.numel != 1)
      raise(ErrorKind::Value, "only tensors of one element become numbers, this has %lld",
            static_cast<long long>(tensor.numel));
    refuse_replay("Python reads a value");
    scalar = read_scalar(tensor, 0);
  } else {
    if (PyLong_Check(object) && !PyBool_Check(object)) scalar.value = integer_element(object, dtype);
    else if (!to_number(object, scalar.value, memory))
      raise(ErrorKind::Type, "a number was expected, not %s", Py_TYPE(object)->tp_name);
    if (scalar.value.tag == Tag::Complex) scalar.complex = *scalar.value.complex;
  }
  if (category(dtype) == DTypeCategory::Integral && !number_fits(scalar.value, dtype))
    raise_unfit_number("tensor", scalar.value, dtype);
  write_scalar(address, dtype, scalar);
}

}  // namespace pellucid::python
