// Calls of composites' bodies, which are Python functions: by the dispatcher, and directly by the bindings if no active
// key must see the call. Used by op_callable.cpp.
#pragma once

#include "python/arguments.h"

namespace pellucid::python {

// Whether dispatching a call of tensors with these keys would run the op's body immediately.
bool runs_body(const OpRecord& op, uint64_t keys);

// Calls the body of a composite with the parsed arguments; returns its result.
PyObject* call_body(const Signature& signature, Value* values);

// Lets the dispatcher run bodies.
void install_composites();

}  // namespace pellucid::python
