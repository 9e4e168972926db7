// Steps of plans whose values are on a device.
//
// Views, copies and fills stay on the device. Other steps are offered to its backend (Backend::launch). What the
// backend does not take runs on the CPU, over copies of the step's operands, and its results are copied back to
// the device.
#pragma once

#include "plan/executor.h"

namespace pellucid {

inline bool runs_on_device(const Frame& frame) {
  return frame.device.type != DeviceType::CPU && frame.device.type != DeviceType::Meta;
}

void run_device_step(Frame& frame, const Step& step);

// steps.cpp: runs the step where its values are.
void run_step_here(Frame& frame, const Step& step);

}  // namespace pellucid
