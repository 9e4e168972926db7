// Steps of plans whose values are on a device.
//
// Views, copies and fills stay on it. Other steps are offered to the device's backend (Backend::launch); what it does
// not take runs on the CPU, over copies of the step's operands, and its results go back to the device.
#pragma once

#include "plan/executor.h"

namespace pellucid {

inline bool runs_on_device(const Frame& frame) {
  return frame.device.type != DeviceType::CPU && frame.device.type != DeviceType::Meta;
}

void run_device_step(Frame& frame, const Step& step);

// steps.cpp: the step with its values where they are.
void run_step_here(Frame& frame, const Step& step);

}  // namespace pellucid
