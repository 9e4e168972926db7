// The kernels of this folder's ops, referred to by catalogue/intrinsics.py. They compute their results' memory
// and values themselves.
#pragma once

#include "core/op_record.h"

namespace pellucid::intrinsics {

// complex_views.cpp
void view_as_real(OpCall& call, void*);
void view_as_complex(OpCall& call, void*);

// random_ops.cpp, in place:
void uniform(OpCall& call, void*);
void normal(OpCall& call, void*);
void random(OpCall& call, void*);
void random_from(OpCall& call, void*);
void random_to(OpCall& call, void*);
void bernoulli(OpCall& call, void*);
void draw_gamma(OpCall& call, void*);
void draw_poisson(OpCall& call, void*);
void draw_binomial(OpCall& call, void*);
// Factories, with and without a generator.
void rand(OpCall& call, void*);
void randn(OpCall& call, void*);
void randint(OpCall& call, void*);
void randint_low(OpCall& call, void*);
void randperm(OpCall& call, void*);
void normal_of_size(OpCall& call, void*);
void rand_like(OpCall& call, void*);
void randn_like(OpCall& call, void*);
void randint_like(OpCall& call, void*);
void randint_like_low(OpCall& call, void*);

}  // namespace pellucid::intrinsics
