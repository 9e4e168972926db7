// Ops on devices: the one handler that serves every op at a device's key.
//
// Graph ops run their plans with values on the device (plan/host_step.h); composites call other ops. Every other
// op runs its CPU kernel over host copies of its tensors, and its results are copied to the device. A kernel that
// a program registers at the key takes precedence, op by op.
#pragma once

#include "core/op_record.h"

namespace pellucid {

// Installs the handler at the key of a device type that has a backend.
void serve_ops_on(DeviceType type);

}  // namespace pellucid
