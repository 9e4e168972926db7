// Runs the matrix products of a plan (products/contraction.h), including those that read beyond their operands.
#pragma once

#include "plan/executor.h"
#include "products/packed_product.h"

namespace pellucid {

// `accumulates`: the product is added to its result. `panel_cache` is for its second operand. `nest` is consumed.
// Returns the kernels' status.
int64_t run_product(const Step& step, Placement& nest, bool accumulates, CachedPanels* panel_cache = nullptr);

// A product with a padded operand: the kernels read it in place if they can, else a zero-padded copy.
int64_t run_padded_product(const Frame& frame, const Step& step, Placement& nest);

}  // namespace pellucid
