// The __torch_dispatch__ protocol: modes and tensor subclasses that see ops below autograd.
//
// A tensor of a class that defines __torch_dispatch__ carries the PythonDispatch key; while a mode
// is active the thread includes it. The key's fallback serves every op: it boxes the arguments as
// Python objects and asks the innermost mode, then the classes. Nothing of this is on the path of
// calls without the key. Read next: function_protocol.h, the protocol above autograd.
#pragma once

#include "core/op_record.h"
#include "python/tensor_object.h"

namespace pellucid::python {

// Gives a new object's tensor the PythonDispatch key if its class defines __torch_dispatch__.
void mark_dispatched(PyTypeObject* type, TensorImpl& tensor);

// In-place and out= ops return what they wrote, whatever a handler gave back: true for these. A wrapper's version
// counts the write, since no kernel saw it.
bool returns_written(OpCall& call);

void add_dispatch_protocol(PyObject* module);

}  // namespace pellucid::python
