// The kernels of the ops that C++ carries out, by their declared names.
//
// Generated from src/pellucid_compiler/catalogue/intrinsics.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include "intrinsics/kernels.h"
#include "ops/intrinsics.h"
#include "autograd/strided_ops.h"

namespace pellucid {
inline constexpr Intrinsic kIntrinsics[] = {
    {"pellucid::as_strided.geometry", intrinsics::as_strided_geometry},
    {"pellucid::as_strided_backward.geometry", intrinsics::as_strided_backward},
    {"pellucid::as_strided_gather.geometry", intrinsics::as_strided_gather},
    {"as_strided", intrinsics::as_strided},
    {"view_as_real", intrinsics::view_as_real},
    {"view_as_complex", intrinsics::view_as_complex},
    {"contiguous", intrinsics::contiguous},
    {"view.dtype", intrinsics::view_dtype},
    {"to.dtype", intrinsics::to_dtype},
    {"to.device", intrinsics::to_device},
    {"to.other", intrinsics::to_other},
    {"to.dtype_layout", intrinsics::to_layout},
    {"python::to", intrinsics::to_device},
    {"type_as", intrinsics::type_as},
    {"detach", intrinsics::detach_view},
    {"detach_", intrinsics::detach_self},
    {"reshape", intrinsics::reshape},
    {"flatten.using_ints", intrinsics::flatten},
    {"expand_as", intrinsics::expand_as},
    {"view_as", intrinsics::view_as},
    {"reshape_as", intrinsics::reshape_as},
    {"unbind.int", intrinsics::unbind},
    {"split.Tensor", intrinsics::split},
    {"split.sizes", intrinsics::split_list},
    {"split", intrinsics::split_list},
    {"split_with_sizes", intrinsics::split_sizes},
    {"chunk", intrinsics::chunk},
    {"empty.memory_format", intrinsics::empty_sizes},
    {"empty_like", intrinsics::empty_like},
    {"new_empty", intrinsics::new_empty},
    {"empty_strided", intrinsics::empty_with_strides},
    {"as_strided_", intrinsics::change_view},
    {"resize_", intrinsics::resize},
    {"resize_as_", intrinsics::resize_as},
    {"set_.source_Tensor", intrinsics::set_from},
    {"set_", intrinsics::set_empty},
    {"uniform_", intrinsics::uniform},
    {"normal_", intrinsics::normal},
    {"random_.from", intrinsics::random_from},
    {"random_.to", intrinsics::random_to},
    {"random_", intrinsics::random},
    {"bernoulli_.float", intrinsics::bernoulli},
    {"pellucid::_draw_gamma_", intrinsics::draw_gamma},
    {"pellucid::_draw_poisson_", intrinsics::draw_poisson},
    {"pellucid::_draw_binomial_", intrinsics::draw_binomial},
    {"rand", intrinsics::rand},
    {"randn", intrinsics::randn},
    {"randperm", intrinsics::randperm},
    {"rand.generator", intrinsics::rand},
    {"randn.generator", intrinsics::randn},
    {"randint", intrinsics::randint},
    {"randint.generator", intrinsics::randint},
    {"randint.low", intrinsics::randint_low},
    {"randint.low_generator", intrinsics::randint_low},
    {"randperm.generator", intrinsics::randperm},
    {"normal.float_float", intrinsics::normal_of_size},
    {"rand_like", intrinsics::rand_like},
    {"randn_like", intrinsics::randn_like},
    {"randint_like", intrinsics::randint_like},
    {"randint_like.low_dtype", intrinsics::randint_like_low},
};
}  // namespace pellucid
