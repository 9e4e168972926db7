// The sets of all public names: which overloads a function, method or operator has, in the order in which they are tried.
//
// A set is made when the bindings are, or when the callable of a single overload is first used; its late overloads are
// added at the first call that no other one fits. Calls are in op_callable.cpp.
#pragma once

#include <string_view>

#include "python/op_callable.h"

namespace pellucid::python {

// The set of a Tensor method, or null. Never freed.
OverloadSet* find_method(std::string_view name);
OverloadSet* find_function(std::string_view python_module, std::string_view name);

// A new set with only this overload, and without a callable yet. Never freed.
OverloadSet* overload_set(OpRecord& op);

// Defines the late overloads of the set's op, which are tried after the existing ones. False if there are none.
bool add_late_overloads(OverloadSet& set);

void add_op_callables(PyObject* module);

}  // namespace pellucid::python
