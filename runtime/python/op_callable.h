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
  // The overloads that take a tensor, two tensors, and a tensor and a number, the rest by default; or null.
  const Signature* of_tensor;
  const Signature* of_tensors;
  const Signature* of_tensor_and_number;
  InlineCache* calls;  // repeated calls; null: no overload prepares any
  const char* late;    // the op whose late overloads belong here, until the first call; or null
  PyMethodDef definition;
};

// Finds the overload that the arguments fit, runs it, and caches the call when it is `wanted`. A mismatch raises, or
// gives null and sets `mismatch`.
PyObject* choose_overload(OverloadSet& set, const PythonArguments& given, bool wanted, bool* mismatch);

inline PyObject* call_overloads(OverloadSet& set, const PythonArguments& given, bool* mismatch = nullptr) {
  bool wanted = false;
  if (!function_modes_active()) [[likely]]
    if (PyObject* result = set.calls ? set.calls->run(given, wanted) : nullptr) [[likely]]
      return result;
  return choose_overload(set, given, wanted, mismatch);
}

// Runs the op whose arguments were parsed, wraps what it returns.
PyObject* run_parsed(const Signature& signature, ParsedArguments& parsed);

// The set of a Tensor method or null. Lives forever.
OverloadSet* find_method(std::string_view name);
OverloadSet* find_function(std::string_view python_module, std::string_view name);

// A new set of this overload alone, without a callable yet. Lives forever.
OverloadSet* overload_set(OpRecord& op);

// Results of a call as Python objects; takes what the Values own.
PyObject* wrap_results(const OpRecord& op, Value* results);
// The named tuple that they become, or None.
PyObject* result_type(const OpRecord& op);

void add_op_callables(PyObject* module);

}  // namespace pellucid::python
