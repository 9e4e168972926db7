// PyInit__C, compiled for the x86-64 baseline, so that an older processor gets an error message instead of an
// illegal instruction.
//
// All other files except core/cpu.cpp are compiled for x86-64-v3. They have no static initialisers, which would
// run before this code (tests/runtime/test_baseline.py). This file must not use the standard library, because the
// linker might take its inline functions from one of those files.
#include "core/cpu.h"
#include "module/module.h"

PyMODINIT_FUNC PyInit__C() {
  char why[400];
  if (pellucid::explain_unsupported(pellucid::this_cpu(), why, sizeof why)) {
    PyErr_SetString(PyExc_ImportError, why);
    return nullptr;
  }
  return pellucid::python::make_module();
}
