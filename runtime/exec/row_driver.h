// Runs kernels whose axes are two bundles: the kept ones, walked outside, and the inner ones that one
// call covers: forms `rows` (columns) and `scan` (the scanned axis), with sizes {inner, outer}.
#pragma once

#include "exec/executor.h"

namespace pellucid {

// `kept` leading axes of `nest` are independent of each other; the axes after them are the inner bundle.
// Returns the first failing call's status.
int64_t run_rows(KernelRef& kernel, Placement& nest, int kept, const uint64_t* params);

// True when the inner axes of every operand form one strided axis, so that run_rows can take them.
bool inner_axes_collapse(const Placement& nest, int kept);

}  // namespace pellucid
