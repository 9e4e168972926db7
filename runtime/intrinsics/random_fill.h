// Fills tensors with random numbers, element by element as PyTorch's CPU generator produces them.
//
// Elements are drawn in memory order. The generator is locked during the whole fill, so that a seed gives the
// same tensor whatever other threads draw. On a device that has generators, a kernel fills the tensor
// (kernels/random_words.h). Used by random_ops.cpp.
#pragma once

#include <optional>

#include "core/generator.h"
#include "core/tensor.h"

namespace pellucid {

// from <= x < to; floating dtypes.
void fill_uniform(TensorImpl& tensor, Generator& generator, double from, double to);
// Contiguous tensors of at least 16 elements: blocks of 16 by Box-Muller over uniforms; others: pairs of doubles,
// the second of which the generator caches.
void fill_normal(TensorImpl& tensor, Generator& generator, double mean, double std);
// Integers from <= x < to; without `to`, up to the dtype's largest.
void fill_integers(TensorImpl& tensor, Generator& generator, int64_t from, std::optional<int64_t> to);
// All values of an integer dtype from 0 on; for a floating dtype, all integers that it represents exactly.
void fill_full_range(TensorImpl& tensor, Generator& generator);
// 1 with probability p, else 0.
void fill_bernoulli(TensorImpl& tensor, Generator& generator, double p);
// A random permutation of 0 .. n-1 in a contiguous int64 tensor; on such a device the order of random keys.
void fill_permutation(TensorImpl& tensor, Generator& generator);

// random_counts.cpp. These replace contiguous float64 parameters by the draws: gamma variates of the shapes,
// Poisson counts of the rates, and successes in the first of each pair (trials, chance).
void fill_gamma(TensorImpl& shapes, Generator& generator);
void fill_poisson(TensorImpl& rates, Generator& generator);
void fill_binomial(TensorImpl& pairs, Generator& generator);

}  // namespace pellucid
