// Dtypes that programs name, compare and print, and that no tensor has: eight-bit floats, wide unsigned integers.
#pragma once

#include <Python.h>

#include "core/dtype.h"

namespace pellucid::python {

// Puts the constants into the module; types.cpp has made the type `dtype`, which theirs is derived from.
void add_named_dtypes(PyObject* module);
// Raises for one of these dtypes, where a tensor would have it.
void refuse_named_dtype(PyObject* object);
// The dtype of an object of the type `dtype` or one derived from it.
DType offered_dtype(PyObject* object);

}  // namespace pellucid::python
