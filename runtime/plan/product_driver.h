// Runs the matrix products of a plan (products/contraction.h), also those that load beyond their operands.
#pragma once

#include "plan/executor.h"
#include "products/packed_product.h"

namespace pellucid {

// `accumulates`: the product adds to its result. `panel_cache` is for its second factor. `nest` is used up. Returns the
// kernels' status.
int64_t run_product(const Step& step, Placement& nest, bool accumulates, CachedPanels* panel_cache = nullptr);

// A product of which an operand is padded: it is read in place where the kernels can do that, else zeros
// are copied around it.
int64_t run_padded_product(const Frame& frame, const Step& step, Placement& nest);

}  // namespace pellucid
