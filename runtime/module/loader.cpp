// PyInit__C, compiled for the x86-64 baseline: an older processor gets a sentence instead of an illegal instruction.
//
// All other files but core/cpu.cpp are compiled for x86-64-v3. They have no static initialisers, which would run
// before this does (tests/runtime/test_baseline.py), and this file no standard library, whose inline functions the
// linker might take from one of them.
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
