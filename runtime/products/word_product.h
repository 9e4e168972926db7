// Products of int8 with int32 sums: products of words, each of which is four elements with consecutive k.
//
// An operand that is contiguous along k, in whole words, is read in place; another one is copied, with zeros after the
// last k. Panels and pieces are then those of int32. A kernel that multiplies unsigned bytes by signed ones yields sums
// that are too large by a multiple of the sum of A's row (codegen/schedules/gemm_words.py); the bias compensates for
// that. Integers wrap, so the bits depend on nothing else. Called by plan/product_driver.cpp.
#pragma once

#include "products/contraction.h"

namespace pellucid {

// C is int32, A and B are int8, and there is no bias; rows, columns and depth have at most one axis. Returns the
// non-zero status of the lowest failing block, or 0.
int64_t run_word_product(const ContractionCall& call);

}  // namespace pellucid
