// Calls of composites' bodies, which are Python functions: by the dispatcher, and straight from the bindings where no
// key between them and the body wants to see the call. Called by op_callable.cpp.
#pragma once

#include "python/arguments.h"

namespace pellucid::python {

// Whether dispatch, of tensors with these keys, would run the op's body now.
bool runs_body(const OpRecord& op, uint64_t keys);

// What the body of a composite gives of the call's arguments, as a Python object.
PyObject* call_body(const Signature& signature, Value* values);

// Lets the dispatcher run bodies.
void install_composites();

}  // namespace pellucid::python
