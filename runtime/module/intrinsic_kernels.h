// The kernels of the ops that C++ carries out, by their declared names.
//
// Generated from src/pellucid_compiler/catalogue/intrinsics.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include "intrinsics/kernels.h"
#include "intrinsics/memory_kernels.h"
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
    {"contiguous", composite::contiguous},
    {"view.dtype", composite::view_dtype},
    {"to.dtype", composite::to_dtype},
    {"to.device", composite::to_device},
    {"to.other", composite::to_other},
    {"to.dtype_layout", composite::to_layout},
    {"python::to", composite::to_device},
    {"type_as", composite::type_as},
    {"detach", composite::detach_view},
    {"detach_", composite::detach_self},
    {"reshape", composite::reshape},
    {"flatten.using_ints", composite::flatten},
    {"expand_as", composite::expand_as},
    {"view_as", composite::view_as},
    {"reshape_as", composite::reshape_as},
    {"unbind.int", composite::unbind},
    {"split.Tensor", composite::split},
    {"split.sizes", composite::split_list},
    {"split", composite::split_list},
    {"split_with_sizes", composite::split_sizes},
    {"chunk", composite::chunk},
    {"empty.memory_format", composite::empty_sizes},
    {"empty_like", composite::empty_like},
    {"new_empty", composite::new_empty},
    {"empty_strided", composite::empty_with_strides},
    {"as_strided_", composite::change_view},
    {"resize_", composite::resize},
    {"resize_as_", composite::resize_as},
    {"set_.source_Tensor", composite::set_from},
    {"set_", composite::set_empty},
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
