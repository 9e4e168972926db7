// GEMM with M = 1 whose B has no 2-D strided layout: the channels of a depthwise convolution and of its
// gradients. Only zero-padded channels are copied, right before they are read. The kernels are the parts of
// codegen/schedules/gemm_single.py. Called by contraction.cpp.
#pragma once

#include "products/packed_product.h"

namespace pellucid {

// Runs the product; nullopt if neither its columns nor its depth are contiguous.
std::optional<int64_t> run_single_row(const PackedProduct& product);

}  // namespace pellucid
