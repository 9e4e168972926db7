// Products of int8 whose sums are int32: products of words, which are four elements of consecutive k.
//
// A factor that is contiguous along k, of whole words, is read in place; another one is copied, with zeros behind
// the last k. The panels and pieces are then those of int32. A kernel that multiplies unsigned bytes by signed ones
// gives sums that are too large by a multiple of the sum of A's row (codegen/schedules/gemm_words.py); the bias makes
// up for it. Integers wrap, so the bits depend on nothing. Called by plan/product_driver.cpp.
#pragma once

#include "products/contraction.h"

namespace pellucid {

// C is int32, A and B are int8, there is no bias; rows, columns and depth have one axis or none. Returns the
// kernels' lowest non-zero status, or 0.
int64_t run_word_product(const ContractionCall& call);

}  // namespace pellucid
