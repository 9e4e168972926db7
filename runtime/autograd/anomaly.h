// Anomaly mode: remembers where each forward call was made, which op wrote to which tensor, and the first
// values that became NaN or infinite; refuses gradients with NaN.
//
// While some thread is in the mode an observer sees every dispatched op; outside it nothing runs.
#pragma once

#include <span>
#include <string>

#include "autograd/node.h"

namespace pellucid {

// What Python's stack looks like now; installed by the bindings.
extern std::string (*current_stack_trace)();

// Switches the mode of this thread. Entering forgets what was seen before.
void set_anomaly_mode(bool enabled, bool check_nan);
extern constinit thread_local bool anomaly_checks_nan __attribute__((tls_model("initial-exec")));  // likewise

void remember_forward_trace(Node& node);
// Shows, as a warning, where the forward call of the failing node was made.
void warn_of_forward_trace(const Node& node);
// Raises when a gradient that `node` returned holds a NaN.
void check_for_nan(const Node& node, std::span<const Tensor> grads_out);

// The op that made `version` of the tensor's memory and where it was called; "" when the mode was off.
std::string writer_of(const TensorImpl& tensor, uint32_t version);
// The first values of this thread that became NaN or infinite, op, element and line; "" when none did.
std::string first_non_finite();

}  // namespace pellucid
