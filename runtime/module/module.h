// Makes the extension module; module/loader.cpp calls it after checking the processor.
#pragma once

#include <Python.h>

namespace pellucid::python {

PyObject* make_module();  // null with a Python error set

}  // namespace pellucid::python
