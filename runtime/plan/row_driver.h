// Runs kernels with two groups of axes: the stored axes, which the driver walks, and the inner ones, which one
// call covers. These are the forms `rows` (columns) and `scan` (the scanned axis), with sizes {inner, outer}.
#pragma once

#include <span>

#include "plan/executor.h"

namespace pellucid {

// Operands that every row accumulates into. Their first dim has `groups` entries, one per group of neighbouring
// rows, each with its own sums; they are initially zero.
struct RowSums {
  std::span<const uint8_t> operands;
  std::span<const int64_t> strides;  // in bytes, from one group to the next
  int64_t groups = 0;
};

// The first `num_stored` axes of `nest` are independent of each other; the axes after them are the inner ones.
// Returns the status of the first call that fails.
int64_t run_rows(KernelRef& kernel, Placement& nest, int num_stored, const uint64_t* params, const RowSums& sums = {});

// Whether the inner axes of every operand collapse into one strided axis, as run_rows requires.
bool inner_axes_collapse(const Placement& nest, int num_stored);

}  // namespace pellucid
