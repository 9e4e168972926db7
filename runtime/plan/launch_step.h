// Steps of plans as launches on a device.
#pragma once

#include "plan/executor.h"

namespace pellucid {

// Makes the step's outputs on the frame's device and hands its kernel to the backend. False: the CPU is to run the step;
// its outputs may have been made.
bool launch_step(Frame& frame, const Step& step);

}  // namespace pellucid
