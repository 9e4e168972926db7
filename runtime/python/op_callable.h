// Op callables: one object per public name, holding the signatures of its overloads in order.
//
// Functions (torch.add) are builtins whose `self` is the overload set; methods (Tensor.add) are
// method descriptors over a pool of entry points; operators call the sets directly.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "python/arguments.h"

namespace pellucid::python {

struct OverloadSet {
  PyObject_HEAD
  std::string* name;
  std::vector<const Signature*>* signatures;
  PyObject* callable;             // what __torch_function__ sees: the public function or method
  bool as_function;               // its first argument is called `input`
  const Signature* direct;        // takes tensors and numbers alone, the rest by default: the fast path
  PyMethodDef definition;
};

// Null results: NotImplemented-like mismatch only when `mismatch_is_answer`.
PyObject* call_overloads(OverloadSet& set, const PythonArguments& given, bool* mismatch = nullptr);

// Runs the op whose arguments were parsed, wraps what it returns.
PyObject* run_parsed(const Signature& signature, ParsedArguments& parsed);
// Fast paths for operators and argument-free methods; the callers checked the types.
PyObject* run_unary(const Signature& signature, TensorImpl& operand);
PyObject* run_binary(const Signature& signature, TensorImpl& left, const Value& right, uint64_t right_keys,
                     int64_t right_elements);

// The set of a Tensor method or null. Lives forever.
OverloadSet* find_method(std::string_view name);
OverloadSet* find_function(std::string_view python_module, std::string_view name);

// A new set of this overload alone, without a callable yet. Lives forever.
OverloadSet* overload_set(OpRecord& op);

// Results of a call as Python objects; takes what the Values own.
PyObject* wrap_results(const OpRecord& op, Value* results);

void add_op_callables(PyObject* module);

}  // namespace pellucid::python
