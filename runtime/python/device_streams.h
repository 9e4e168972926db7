// Streams, events and the memory of devices, for Python.
#pragma once

#include "core/storage.h"
#include "python/object.h"

namespace pellucid::python {

Device device_argument(PyObject* object);  // a device, or its name; Type error for anything else (backend.cpp)
void add_device_streams(PyObject* module);

}  // namespace pellucid::python
