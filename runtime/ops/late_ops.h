// Late ops: records of the frozen file that are defined when they are first looked up or called.
//
// Most overloads need no plan of their own: second names (`arccos`), forms of an op that is declared under another
// schema (`mul.Scalar`), in-place and `out=` forms of ops without a destination, and composites, whose bodies are
// Python functions over other ops. The file lists them by op name; programs meet few of them, so that import
// defines none. Called by the dispatcher (for unknown names) and by the bindings (for the names to bind).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/op_record.h"
#include "plan/decode.h"

namespace pellucid {

// Where Python finds a late op: a function of a module, a method of Tensor.
struct LateBinding {
  std::string_view name;           // "einsum", "special_expit": the op's name
  std::string_view python_module;  // "", "linalg", "special", ...
  std::string_view original;       // an alias: the op that it names; else empty
  bool is_method, is_function;
};

// The body of a composite: `function` of the Python module `module`, found when it is first called.
struct CompositeBody {
  std::string module, function;
  void* bound = nullptr;  // what the bindings found for it; theirs
};
// Runs it; `context` is the CompositeBody. Installed by the bindings.
extern BoxedKernel run_composite;
CompositeBody* composite_body(const OpRecord& op);  // null: it has none

// Reads the index of the file's late ops; `file` is mapped for as long as the process lives.
void install_late_ops(std::span<const uint8_t> file);

// Defines the late overloads of an op name ("einsum"), unless they are.
void define_late_ops(std::string_view name);
void define_all_late_ops();

std::span<const LateBinding> late_bindings();

// Whether the record was defined so: it has no node of its own, and gradients are those of what it calls.
bool is_late(const OpRecord& op);

}  // namespace pellucid
