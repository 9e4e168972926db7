// Converts Values to Python objects and back, for kernels and observers written in Python.
#pragma once

#include "core/op_record.h"
#include "python/object.h"

namespace pellucid::python {

// The argument as a Python object, a new reference.
PyObject* value_object(const Value& value);
// All arguments of a call: positional ones in a tuple, keyword-only ones in a dict.
void pack_arguments(const OpCall& call, Object& positional, Object& keywords);
// The same without arguments that equal their defaults: trailing positional ones and any keyword-only ones.
void pack_given_arguments(const OpCall& call, Object& positional, Object& keywords);
// Converts what a Python kernel returned to call.rets; raises a Type error that names the op.
void unpack_results(OpCall& call, PyObject* returned);

}  // namespace pellucid::python
