// Launch: a kernel with its whole nest, as passed to a device (Backend::launch).
#pragma once

#include <cstdint>
#include <span>

#include "core/backend.h"
#include "core/dtype.h"
#include "kernels/kernel_ref.h"

namespace pellucid {

// A value in the device's memory: a size and a byte stride per axis of the launch, or for a nest per dim of the value.
struct LaunchOperand {
  uint64_t address;
  DType dtype;
  std::span<const int64_t> sizes, strides;
};

// The first `num_stored` axes index the results; a reduction, the passes over a row, a scan or a product's sum
// run over the others. Outputs come first. Everything it points to is valid only during the call.
struct Launch {
  const char* op;
  const KernelRef& kernel;
  Device device;
  std::span<const int64_t> extents;
  int num_stored;
  std::span<const LaunchOperand> operands;
  int num_outputs;
  std::span<const uint64_t> params;
};

}  // namespace pellucid
