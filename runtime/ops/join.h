// Joins: cat and stack, which concatenate the tensors of a list along a dim; their inverses are views.
//
// Their meaning is declared. Lists of any length whose pieces have compatible geometry are copied directly to
// where the inverse view finds them, and that view of the gradient is their derivative. Other lists (several
// dtypes, the empty tensors that `cat` skips, mistakes) run as declared. Read next: graph_op.h, which runs those.
#pragma once

#include <atomic>
#include <map>
#include <string>

#include "autograd/derivative.h"
#include "ops/graph_op.h"

namespace pellucid {

struct JoinData : GraphData {
  explicit JoinData(std::string name) : inverse_name(std::move(name)) {}
  const OpRecord& inverse();  // a view: `unbind` for an added dim, `split_with_sizes` for a lengthened one
  bool adds_dim() { return inverse().schema.arguments.size() == 2; }  // else the inverse takes sizes too

  const std::string inverse_name;
  std::atomic<const OpRecord*> found_inverse{nullptr};
  std::map<int64_t, DerivativePlan> derivatives;  // by the dim; at most kMaxDims
};

// `inverse`: the name of a view, which must exist when the op is first called.
void register_join(OpRecord& op, std::string inverse);

void handle_join(OpCall& call, void*);          // every join on the CPU
void run_join_on(OpCall& call, Device device);  // on a device with a backend

}  // namespace pellucid
