// Functions that add grad modes, settings, op listings and more to the module.
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_grad_modes(PyObject* module);      // grad_mode.cpp
void add_autocast(PyObject* module);        // autocast.cpp
void add_backends(PyObject* module);        // backend.cpp
void add_grid_runs(PyObject* module);       // grid_runs.cpp
void add_cuda(PyObject* module);            // cuda.cpp
void add_regions(PyObject* module);         // regions.cpp
void add_settings(PyObject* module);        // settings.cpp
void add_library(PyObject* module);         // library.cpp
void add_python_kernels(PyObject* module);  // python_kernels.cpp
void add_op_listing(PyObject* module);      // op_listing.cpp
void add_transforms(PyObject* module);      // transforms.cpp
void add_kinds(PyObject* module);           // kinds.cpp
void add_patterns(PyObject* module);        // patterns.cpp
void add_timeline(PyObject* module);        // timeline.cpp

}  // namespace pellucid::python
