// The kernels of this folder's ops, referred to by catalogue/intrinsics.py. They compute their results' memory
// and values themselves.
#pragma once

#include "core/op_record.h"

namespace pellucid::intrinsics {

// conversion.cpp: the tensor itself if it already fits, else a copy or an alias.
void contiguous(OpCall& call, void*);
void view_dtype(OpCall& call, void*);
void to_dtype(OpCall& call, void*);
void to_device(OpCall& call, void*);
void to_other(OpCall& call, void*);
void to_layout(OpCall& call, void*);
void type_as(OpCall& call, void*);
void detach_view(OpCall& call, void*);
void detach_self(OpCall& call, void*);

// shape.cpp: a view if the strides allow one, else a copy; views of parts.
void reshape(OpCall& call, void*);
void flatten(OpCall& call, void*);
void expand_as(OpCall& call, void*);
void view_as(OpCall& call, void*);
void reshape_as(OpCall& call, void*);
void unbind(OpCall& call, void*);
void split(OpCall& call, void*);
void split_sizes(OpCall& call, void*);
void split_list(OpCall& call, void*);
void chunk(OpCall& call, void*);

// empty.cpp: uninitialised memory.
void empty_sizes(OpCall& call, void*);
void empty_like(OpCall& call, void*);
void new_empty(OpCall& call, void*);
void empty_with_strides(OpCall& call, void*);

// in_place.cpp: changes which elements a tensor has.
void resize(OpCall& call, void*);
void resize_as(OpCall& call, void*);
void set_from(OpCall& call, void*);
void set_empty(OpCall& call, void*);
void change_view(OpCall& call, void*);
// Installs the kernel of the op table's in-place views; called once, when the table is loaded.
void install_in_place_views();

// complex_views.cpp
void conj_view(OpCall& call, void*);
void neg_view(OpCall& call, void*);
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
