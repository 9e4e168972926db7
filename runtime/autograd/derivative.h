// How an op is differentiated: the derivative of an op is an op.
//
// For one (op, specialisation key, needs-grad mask), a DerivativePlan names the op that computes the gradients
// and says where each of its arguments comes from. That op's derivative is found the same way, so derivatives of
// every order exist. Plans come from the frozen file or from tracing (ops/).
//
// *Inputs* of an op are numbered over the schema's tensor-typed arguments in order. A tensor list counts once per
// element; an argument that holds a number or None still counts once, so that the numbering depends on the schema
// and the list lengths alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/op_record.h"

namespace pellucid {

struct ArgumentSource {
  using From = ArgumentOrigin;  // abi/codes.h defines each; sizes are `sizes` below, flattened
  From from;
  int16_t index = 0;
  int16_t element = -1;
};

struct SizeSource {
  int16_t argument;
  int16_t element;
  int16_t dim;
};

// A gradient that is passed on unchanged: that of forward result `gradient` to input `input`.
struct PassedGradient {
  int16_t gradient = 0, input = 0;
  bool is_last = true;  // no later entry passes the same gradient
};

// A number, string or list of numbers of the forward call that selects its loops; part of the plan's key.
struct StructuralArgument {
  int16_t index = 0;
  Value value;
};

struct DerivativePlan {
  const OpRecord* op = nullptr;       // computes the gradients; an ordinary op. Null: none is computed
  const OpRecord* forward = nullptr;  // runs instead of the forward op: returns its results, then the values to save
  std::vector<ArgumentSource> arguments;  // one per argument of `op`
  std::vector<SizeSource> sizes;          // the integers of the Sizes argument, in order
  std::vector<Value> constants;           // what arguments of that origin are; lists live as long as the plan
  std::vector<int16_t> results;           // result r of `op` is the gradient of input results[r] (the tangent of
                                          // output results[r]); a list result counts once per element
  std::vector<PassedGradient> passed;     // computed by no op
  // For a join: whatever the length of the list in argument 0, gradient r belongs to its element r, and `sizes`
  // says where element 0's integer comes from; the other elements follow the same pattern. `results` is empty.
  bool per_element = false;
  bool broadcasts = false;       // pointwise: results have the broadcast shape and the compute dtype;
                                 // the engine reduces every gradient to its argument's shape and dtype
  uint64_t saved_arguments = 0;  // bits over inputs, for explain
  uint32_t saved_results = 0;
  uint64_t places = 0;                         // bits over inputs: indices and masks, which cannot have a gradient
  bool is_flat = false;                        // no result depends differentiably on any input: the gradients are zeros
  std::vector<StructuralArgument> structural;  // for `grad_fn._saved_dim`; stored in `structural_memory`
  std::shared_ptr<char[]> structural_memory;
  std::string node_name;  // "MulBackward0"; empty: the op's name followed by Backward0
  std::shared_ptr<const OpRecord> op_owner, forward_owner;  // set for records that do not live forever

  // The number of integers of the Sizes argument in this call, and where number `k` comes from.
  size_t num_sizes(const OpCall& call) const {
    return per_element && !sizes.empty() ? call.args[sizes[0].argument].length : sizes.size();
  }
  SizeSource size_source(size_t k) const {
    return per_element ? SizeSource{sizes[0].argument, static_cast<int16_t>(k), sizes[0].dim} : sizes[k];
  }
};

// A plan and its owner. Plans of the frozen file live forever and have no owner, so that copying the pointer
// counts nothing. Code that stores the plan beyond the call must store this. Null: the op is not differentiable.
using SharedPlan = std::shared_ptr<const DerivativePlan>;
inline SharedPlan permanent(const DerivativePlan* plan) { return {SharedPlan(), plan}; }

// `needs_grad`: bits over the inputs; bit 63 covers every input from the 63rd on. Null: the op is not
// differentiable. Called after a functional op ran, with its results in call.rets, and before an in-place op
// runs, with its written arguments in call.rets. Thread-safe. During a backward pass it is called without the
// interpreter lock, which it may take on a miss.
using DerivativeFinder = SharedPlan (*)(const OpCall& call, uint64_t needs_grad);

// Whether the gradient op that dispatch modes see may read the op's results (ops/op_table.cpp).
bool seen_gradient_reads_results(const OpRecord& op);

constexpr int kNumRules = kNumCodes<Rule>;
// Gives the gradients of calls on a device that has a library for them; null: as on the CPU. Null while there is none.
extern std::atomic<DerivativeFinder> device_derivative;
SharedPlan find_rule(Rule rule, const OpCall& call, uint64_t mask);
inline SharedPlan find_derivative(const OpCall& call, uint64_t needs_grad) {
  return find_rule(Rule::Vjp, call, needs_grad);
}

}  // namespace pellucid
