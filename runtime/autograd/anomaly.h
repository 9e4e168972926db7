// Anomaly mode: remembers where each forward call was made and watches gradients for NaN.
#pragma once

#include <span>
#include <string>

#include "autograd/node.h"

namespace pellucid {

// What Python's stack looks like now; installed by the bindings.
extern std::string (*current_stack_trace)();

void remember_forward_trace(Node& node);
// Shows, as a warning, where the forward call of the failing node was made.
void warn_of_forward_trace(const Node& node);
// Raises when a gradient that `node` returned holds a NaN.
void check_for_nan(const Node& node, std::span<const Tensor> grads_out);

extern bool anomaly_checks_nan;

}  // namespace pellucid
