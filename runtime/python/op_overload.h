// OpOverload: one overload of an op as a Python object, which torch.ops returns and __torch_dispatch__ receives. The
// class is written in Python (pellucid/_ops/__init__.py); this base class makes its calls fast.
#pragma once

#include "core/op_record.h"
#include "python/object.h"

namespace pellucid::python {

// The overload's object, made at first use and never freed; borrowed.
PyObject* overload_object(const OpRecord& op);

// (namespace, name, overload, arguments, returns, text) of the op's schema; op_listing.cpp.
PyObject* schema_entry(const OpRecord& op);

void add_op_overload(PyObject* module);

}  // namespace pellucid::python
