// Elements of tensors as Python numbers and back.
#pragma once

#include "core/value.h"
#include "python/object.h"

namespace pellucid::python {

struct Scalar {
  Value value;            // Int, Float, Bool or Complex
  Complex complex{0, 0};  // when value.tag is Complex
};

// Element `index` (in elements from the first) of the tensor's memory.
Scalar read_scalar(TensorImpl& tensor, int64_t index);
// The Python number at `address` of an element of `dtype`, as a new reference.
PyObject* element_object(const char* address, DType dtype);
// Writes `object`, a Python or NumPy number or a 1-element tensor, with the cast PyTorch makes.
void write_element(char* address, DType dtype, PyObject* object);
// Python number of a boxed number, as a new reference.
PyObject* number_object(const Value& number);

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
inline float bfloat16_to_float(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value;
  __builtin_memcpy(&value, &wide, 4);
  return value;
}
uint16_t float_to_bfloat16(float value);

}  // namespace pellucid::python
