// How an op is differentiated: the derivative of an op is an op.
//
// For one (op, specialisation key, needs-grad mask) a DerivativePlan names the op that computes the
// gradients and says where each of its arguments comes from. Its own derivative is found the same
// way, so every order exists. Plans come from the frozen file or from tracing (exec/).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/op_record.h"

namespace pellucid {

struct ArgumentSource {
  enum class From : uint8_t {
    Argument,      // forward argument `index` (saved when a tensor); element `element` of a list argument
    Result,        // forward result `index` (saved)
    Gradient,      // gradient of forward result `index` (materialised as zeros when undefined)
    Sizes,         // IntList: sizes of forward tensor arguments, `sizes` below flattened, saved as integers
  };
  From from;
  int16_t index = 0;
  int16_t element = -1;
};

struct SizeSource { int16_t argument; int16_t element; int16_t dim; };

struct DerivativePlan {
  const OpRecord* op;                    // computes the gradients; an ordinary op
  std::vector<ArgumentSource> arguments; // one per argument of `op`
  std::vector<SizeSource> sizes;         // the integers of the Sizes argument, in order
  std::vector<int16_t> results;          // result r of `op` is the gradient of differentiable input results[r]
                                         // (inputs counted over tensor arguments, lists flattened)
  bool broadcasts = false;               // pointwise: results have the broadcast shape and the compute dtype;
                                         // the node reduces them to each argument's shape and dtype
  uint64_t saved_arguments = 0;          // bits over flattened tensor inputs
  uint32_t saved_results = 0;
};

// `needs_grad`: bits over the flattened tensor inputs. Null: the op is not differentiable.
// Called after the forward ran, results in call.rets. Thread-safe; may call Python on a miss.
const DerivativePlan* find_derivative(const OpCall& call, uint64_t needs_grad);

}  // namespace pellucid
