// Joins: cat and stack, which place the tensors of a list next to each other along a dim; its parts are views.
//
// Their declarations say what they mean; lists whose pieces fit together as they are, of any length,
// are copied to where the inverse view finds them, and that view of the gradient is their derivative.
// Other lists (several dtypes, the empty tensors that `cat` passes over, mistakes) run as declared.
// Read next: graph_op.h, which runs those.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "autograd/derivative.h"
#include "ops/graph_op.h"

namespace pellucid {

struct JoinData : GraphData {
  explicit JoinData(std::string name) : inverse_name(std::move(name)) {}
  const OpRecord& inverse();  // a view: `unbind` of a dim that was added, `split_with_sizes` of a longer one
  bool adds_dim() { return inverse().schema.arguments.size() == 2; }  // else sizes are among them

  const std::string inverse_name;
  std::atomic<const OpRecord*> found_inverse{nullptr};
  std::map<int64_t, DerivativePlan> derivatives;  // by the dim; at most kMaxDims
};

// `inverse`: the name of a view, which exists when the op is first called.
void register_join(OpRecord& op, std::string inverse);

void handle_join(OpCall& call, void*);          // of every join on the CPU
void run_join_on(OpCall& call, Device device);  // of one on a device with a backend

}  // namespace pellucid
