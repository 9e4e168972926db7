// Anomaly mode: records where each forward call was made, which op wrote to which tensor, and the first values
// that became NaN or infinite; rejects gradients with NaN.
//
// While any thread is in the mode, the dispatcher passes every call's results (kWatchValues of timeline/watch.h);
// otherwise there is no overhead. Stacks are numbers of the timeline's frames and become text where one is reported.
#pragma once

#include <span>
#include <string>

#include "autograd/node.h"

namespace pellucid {

// The number of Python's current stack, and the text of a number; installed by the bindings.
extern uint32_t (*stack_number)();
extern std::string (*stack_text)(uint32_t number);

// Called when autograd is registered.
void install_anomaly_mode();
// Switches the mode of this thread. Entering discards earlier records.
void set_anomaly_mode(bool enabled, bool check_nan);
extern constinit thread_local bool anomaly_checks_nan
    __attribute__((tls_model("initial-exec")));  // set by set_anomaly_mode

void remember_forward_stack(Node& node);
// Warns where the forward call of the failing node was made.
void warn_of_forward_call(const Node& node);
// Raises if a gradient that `node` returned contains a NaN.
void check_for_nan(const Node& node, std::span<const Tensor> grads_out);

// The op that produced `version` of the tensor's memory, and where it was called; "" if the mode was off.
std::string writer_of(const TensorImpl& tensor, uint32_t version);
// The first values of this thread that became NaN or infinite, with op, element and line; "" if none did.
std::string first_non_finite();

}  // namespace pellucid
