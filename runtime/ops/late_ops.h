// Late ops: records of the frozen file that are defined when they are first looked up or called.
//
// Most overloads need no plan of their own: aliases (`arccos`), overloads of an op that is declared under another
// schema (`mul.Scalar`), in-place and `out=` forms of ops without a destination, and composites, whose bodies are
// Python functions over other ops. The file lists them by op name; a program uses few of them, so import defines
// none. Called by the dispatcher (for unknown names) and by the bindings (for the names to bind).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/op_record.h"
#include "plan/decode.h"

namespace pellucid {

// Where Python exposes a late op: as a function of a module, as a method of Tensor.
struct LateBinding {
  std::string_view name;           // "einsum", "special_expit": the op's name
  std::string_view python_module;  // "", "linalg", "special", ...
  std::string_view original;       // an alias: the name of the aliased op; else empty
  bool is_method, is_function;
};

// The body of a composite: `function` of the Python module `module`, resolved at the first call.
struct CompositeBody {
  std::string module, function;
  void* bound = nullptr;  // owned by the bindings: what they resolved
};
// Runs a composite; `context` is its CompositeBody. Installed by the bindings.
extern BoxedKernel run_composite;
CompositeBody* composite_body(const OpRecord& op);  // null: it has none

// Reads the index of the file's late ops; `file` stays mapped for the life of the process.
void install_late_ops(std::span<const uint8_t> file);

// Defines the late overloads of an op name ("einsum") that are not defined yet.
void define_late_ops(std::string_view name);
void define_all_late_ops();

std::span<const LateBinding> late_bindings();

// Whether the record was defined as a late op: it has no node of its own; gradients are those of the ops that it calls.
bool is_late(const OpRecord& op);

}  // namespace pellucid
