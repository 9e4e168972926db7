// Launch: a kernel with its whole nest, as passed to a device (Backend::launch).
#pragma once

#include <cstdint>
#include <span>

#include "core/backend.h"
#include "core/dtype.h"
#include "kernels/kernel_ref.h"

namespace pellucid {

// A dim in which a product reads an operand beyond its ends: a point of the launch is at index `first` plus the point's
// place along each axis times the axis' step, and counts as zero unless that is at least 0 and below `size`.
constexpr size_t kMaxGuards = 6;
struct Guard {
  int64_t first, size;
  std::span<const int64_t> steps;
};

// A value in the device's memory: a size and a byte stride per axis of the launch, or for a nest per dim of the value.
// With guards, of which a launch has at most kMaxGuards, the address is that of the whole value, of `num_bytes`, and
// the first point is `offset` bytes from it.
struct LaunchOperand {
  uint64_t address;
  DType dtype;
  std::span<const int64_t> sizes, strides;
  std::span<const Guard> guards = {};
  int64_t offset = 0, num_bytes = 0;
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
