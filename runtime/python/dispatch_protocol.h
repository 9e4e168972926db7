// The __torch_dispatch__ protocol: modes and tensor subclasses that see ops below autograd.
//
// A tensor of a class that defines __torch_dispatch__ carries the PythonDispatch key; while a mode
// is active the thread includes it. The key's fallback serves every op: it boxes the arguments as
// Python objects and asks the innermost mode, then the classes. Nothing of this is on the path of
// calls without the key. Read next: function_protocol.h, the protocol above autograd.
#pragma once

#include "core/op_record.h"
#include "python/object.h"
#include "python/tensor_object.h"

namespace pellucid::python {

// Gives a new object's tensor the PythonDispatch key if its class defines __torch_dispatch__.
void mark_dispatched(PyTypeObject* type, TensorImpl& tensor);

// What __torch_dispatch__ of a mode or a class gets beside the op.
struct AskedCall {
  PyObject* types;
  PyObject* args;
  PyObject* kwargs;
};
// What `owner` gives for the call; empty where it declines.
Object ask(const OpCall& call, PyObject* owner, const AskedCall& given);
// The classes of arguments that define __torch_dispatch__, as a tuple.
Object overriding_classes(const OpCall& call);
// Whether a derivative was seen as the ops of its decomposition, where `mode` (null: none) is the innermost one.
bool decomposed_derivative(OpCall& call, PyObject* mode);
// Registers what composites decompose into. Called before the first tensor or mode is watched.
void prepare_decompositions();

// The written arguments as the results of a call that writes; false: it writes none.
bool share_written(OpCall& call);
// In-place and out= ops return what they wrote, whatever a handler gave back: true for these. A wrapper's version
// counts the write, since no kernel saw it.
bool returns_written(OpCall& call);

void add_dispatch_protocol(PyObject* module);

}  // namespace pellucid::python
