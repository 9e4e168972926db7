// The small immutable types of the API: dtype, device, layout, memory_format and Size.
//
// dtypes, layouts and memory formats are singletons compared by identity; a device compares by value.
#pragma once

#include <span>
#include <string>

#include "core/dtype.h"
#include "core/layout.h"
#include "python/object.h"

namespace pellucid::python {

// A named constant: the object layout of dtype, layout and memory_format.
struct ConstantObject {
  PyObject_HEAD int value;
  const char* name;
};

extern PyTypeObject dtype_type, layout_type, memory_format_type, device_type, size_type;

PyObject* dtype_object(DType dtype);  // borrowed, immortal
PyObject* layout_object(Layout layout);
PyObject* memory_format_object(MemoryFormat format);
PyObject* device_object(Device device);  // new reference

inline bool is_dtype(PyObject* object) { return Py_TYPE(object) == &dtype_type; }
inline DType dtype_of(PyObject* object) { return static_cast<DType>(reinterpret_cast<ConstantObject*>(object)->value); }
// A dtype, or one of Python's float, int, bool, complex.
bool to_dtype(PyObject* object, DType& out);
// A device, a string such as "cpu" or "cuda:1", or an index. False: not a device at all.
bool to_device(PyObject* object, Device& out);

PyObject* size_object(std::span<const int64_t> sizes);  // new reference

void add_types(PyObject* module);

}  // namespace pellucid::python
