// The __torch_dispatch__ protocol: modes and tensor subclasses that see ops below autograd.
//
// A tensor of a class that defines __torch_dispatch__ has the PythonDispatch key; while a mode is active, the thread
// includes the key. The key's fallback serves every op: it converts the arguments to Python objects and calls the
// innermost mode, then the classes. Calls without the key have no overhead. Read next: function_protocol.h, the
// protocol above autograd.
#pragma once

#include "core/op_record.h"
#include "python/object.h"
#include "python/tensor_object.h"

namespace pellucid::python {

// Whether a class defines __torch_dispatch__.
bool defines_dispatch(PyTypeObject* type);
// Gives a new object's tensor the PythonDispatch key if its class defines __torch_dispatch__.
void mark_dispatched(PyTypeObject* type, TensorImpl& tensor);

// The arguments of __torch_dispatch__, besides the op.
struct AskedCall {
  PyObject* types;
  PyObject* args;
  PyObject* kwargs;
};
// The result of `owner`'s __torch_dispatch__; empty if it declines.
Object ask(const OpCall& call, PyObject* owner, const AskedCall& given);
// The classes of arguments that define __torch_dispatch__, as a tuple.
Object overriding_classes(const OpCall& call);
// Runs a derivative op as its decomposition if `mode`, the innermost one (or null), sees it so; false if it does not.
bool decomposed_derivative(OpCall& call, PyObject* mode);
// Registers the decompositions of composites. Called before the first mode or class is dispatched to.
void prepare_decompositions();

// Sets the results of an in-place or out= call to the written arguments; false if the op writes none.
bool share_written(OpCall& call);
// The same after a handler ran: in-place and out= ops return the written arguments, whatever the handler returned. Also
// bumps the version of written wrappers, since no kernel did.
bool returns_written(OpCall& call);

void add_dispatch_protocol(PyObject* module);

}  // namespace pellucid::python
