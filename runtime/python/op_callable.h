// Op callables: one object per public name, holding the signatures of its overloads in order.
//
// Functions (torch.add) are builtins whose `self` is the overload set; methods (Tensor.add) are
// method descriptors over a pool of entry points; operators call the sets directly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "python/inline_cache.h"

namespace pellucid::python {

struct OverloadSet {
  PyObject_HEAD std::string* name;
  std::vector<const Signature*>* signatures;
  PyObject* callable;  // what __torch_function__ sees: the public function or method
  bool as_function;    // its first argument is called `input`
  // The direct forms: overloads that take a tensor, two tensors, or a tensor and a number, with defaults for the rest.
  const Signature* of_tensor;
  const Signature* of_tensors;
  const Signature* of_tensor_and_number;
  InlineCache* calls;  // repeated calls; null if no overload can prepare calls
  const char* late;    // the op whose late overloads are added at the first call; null if none, or afterwards
  PyMethodDef definition;
};

// Finds the overload that the arguments fit, runs it, and caches the call if `wanted`. On a mismatch, raises, or
// returns null and sets `mismatch` if that is not null.
PyObject* choose_overload(OverloadSet& set, const PythonArguments& given, bool wanted, bool* mismatch);

inline PyObject* call_overloads(OverloadSet& set, const PythonArguments& given, bool* mismatch = nullptr) {
  bool wanted = false;
  if (!function_modes_active()) [[likely]]
    if (PyObject* result = set.calls ? set.calls->run(given, wanted) : nullptr) [[likely]]
      return result;
  return choose_overload(set, given, wanted, mismatch);
}

// Runs the body of a set's only op, a composite; returns NotImplemented for other ops.
PyObject* call_inside(OverloadSet& set, const PythonArguments& given);

// Runs the op with parsed arguments and wraps its results.
PyObject* run_parsed(const Signature& signature, ParsedArguments& parsed);

// Results of a call as Python objects; takes over the Values' references.
PyObject* wrap_results(const OpRecord& op, Value* results);
// The type of the named tuple of the results, or None.
PyObject* result_type(const OpRecord& op);

}  // namespace pellucid::python
