// Steps of plans as launches on a device.
#pragma once

#include "plan/executor.h"

namespace pellucid {

// Allocates the step's outputs on the frame's device and hands its kernel to the backend. False: the step must
// run on the CPU; its outputs may have been allocated.
bool launch_step(Frame& frame, const Step& step);

}  // namespace pellucid
