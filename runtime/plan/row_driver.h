// Runs kernels whose axes are two bundles: the stored ones, walked outside, and the inner ones that one
// call covers: forms `rows` (columns) and `scan` (the scanned axis), with sizes {inner, outer}.
#pragma once

#include <span>

#include "plan/executor.h"

namespace pellucid {

// Operands that every row adds to: their first dim is over `groups` groups of neighbouring rows, each with
// sums of its own, and they hold zeros before.
struct RowSums {
  std::span<const uint8_t> operands;
  std::span<const int64_t> strides;  // in bytes, from one group to the next
  int64_t groups = 0;
};

// `num_stored` leading axes of `nest` are independent of each other; the axes after them are the inner bundle.
// Returns the first failing call's status.
int64_t run_rows(KernelRef& kernel, Placement& nest, int num_stored, const uint64_t* params, const RowSums& sums = {});

// True when the inner axes of every operand form one strided axis, so that run_rows can take them.
bool inner_axes_collapse(const Placement& nest, int num_stored);

}  // namespace pellucid
