// The strides that PyTorch gives a result computed elementwise from several operands.
#pragma once

#include <span>

#include "core/layout.h"
#include "core/tensor.h"

namespace pellucid {

// If all operands have one shape and are contiguous (or channels-last, or equally dense), the result has their
// layout; otherwise its dimensions are ordered by the operands' strides. `sizes`: the broadcast shape.
Tensor empty_for_operands(std::span<const int64_t> sizes, std::span<TensorImpl* const> operands, DType dtype,
                          Device device);
// The strides of that result.
void strides_for_operands(std::span<const int64_t> sizes, std::span<TensorImpl* const> operands, int64_t* strides);

// An uninitialised tensor with the shape of `like` on `device`, in the memory format `format`.
Tensor empty_with_format(const TensorImpl& like, DType dtype, MemoryFormat format, Device device);

// The strides, in elements, of `tensor` broadcast to the shape `sizes`.
void broadcast_strides(const TensorImpl& tensor, std::span<const int64_t> sizes, int64_t* out);

// Resizes the destination of an out= argument if its shape differs, with PyTorch's warning if that loses elements.
void resize_output(TensorImpl& out, std::span<const int64_t> sizes);

}  // namespace pellucid
