// What derivative ops are derived from, for the rules by which dispatch modes see them (pellucid/_decomp).
#pragma once

#include "python/object.h"

namespace pellucid::python {

void add_derivation(PyObject* module);

}  // namespace pellucid::python
