// DispatchKey and DispatchKeySet: the dispatcher's keys as Python objects, under PyTorch's names.
#pragma once

#include "core/keys.h"
#include "python/object.h"

namespace pellucid::python {

// A new DispatchKeySet.
PyObject* keyset_object(KeySet keys);

// The key of a name; RuntimeError for an unknown one.
const NamedKey& key_named(const char* text);
// The key of a DispatchKey or of its name.
const NamedKey& to_named_key(PyObject* object);

void add_dispatch_keys(PyObject* module);

}  // namespace pellucid::python
