// Makes the extension module; module/loader.cpp calls it once it knows that the processor can run it.
#pragma once

#include <Python.h>

namespace pellucid::python {

PyObject* make_module();  // null with a Python error set

}  // namespace pellucid::python
