// Tensors from Python data: numbers, nested lists, NumPy arrays and other buffers.
//
// NumPy is never imported here: arrays are read through the buffer protocol.
#pragma once

#include <optional>

#include "core/tensor.h"
#include "python/object.h"

namespace pellucid::python {

// Whether an object is a NumPy array, a NumPy scalar, or has NumPy's array interface.
bool is_array_like(PyObject* object);

// A copy of `object`: a number, a nested list, an array or a tensor. Without `dtype` it is inferred.
Tensor copy_of_data(PyObject* object, std::optional<DType> dtype);
// A tensor over the memory of `array`; it keeps the array alive. Raises for layouts no tensor has.
Tensor share_array(PyObject* array);
// A tensor of integers or bools from an index.
Tensor index_from_sequence(PyObject* object);

// A new row-major tensor with the values of `source`.
Tensor cast_copy(TensorImpl& source, DType dtype);

void add_data_functions(PyObject* module);  // array_data.cpp
void add_dlpack(PyObject* module);          // dlpack.cpp

}  // namespace pellucid::python
