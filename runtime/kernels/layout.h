// The strides PyTorch gives to a result computed elementwise from several operands.
#pragma once

#include <span>

#include "core/layout.h"
#include "core/tensor.h"

namespace pellucid {

// All contiguous (or channels-last, or equally dense) operands of one shape hand their layout on;
// otherwise dimensions are ordered as the operands' strides order them. `sizes`: the broadcast shape.
Tensor empty_for_operands(std::span<const int64_t> sizes, std::span<TensorImpl* const> operands, DType dtype,
                          Device device);
// Its strides.
void strides_for_operands(std::span<const int64_t> sizes, std::span<TensorImpl* const> operands, int64_t* strides);

// A tensor of the shape of `like` on `device` in the memory format `format`, uninitialised.
Tensor empty_with_format(const TensorImpl& like, DType dtype, MemoryFormat format, Device device);

// The strides, in elements, with which `tensor` is read at the broadcast shape `sizes`.
void broadcast_strides(const TensorImpl& tensor, std::span<const int64_t> sizes, int64_t* out);

// The destination of an out= argument: resizes it when its shape differs, with PyTorch's warning
// when that loses elements.
void resize_output(TensorImpl& out, std::span<const int64_t> sizes);

}  // namespace pellucid
