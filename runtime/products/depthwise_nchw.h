// Products whose A has a single row and whose B is no matrix in memory: each channel of a depthwise convolution
// and of its gradients. Nothing is copied but a channel that zeros lie around, right before it is read. The
// kernels are the parts of codegen/schedules/gemm_single.py. Called by contraction.cpp.
#pragma once

#include "products/packed_product.h"

namespace pellucid {

// Runs the product, or returns nothing where neither its columns nor its depth lie in rows in memory.
std::optional<int64_t> run_single_row(const PackedProduct& product);

}  // namespace pellucid
