// Copies in a chosen memory format, for intrinsics.
#pragma once

#include "core/layout.h"
#include "core/tensor.h"
#include "core/value.h"

namespace pellucid::intrinsics {

MemoryFormat format_or(const Value& value, MemoryFormat otherwise);
bool has_format(const TensorImpl& tensor, MemoryFormat format);
// An uninitialised tensor with the shape of `like` on `device`, in the memory format `format`.
Tensor empty_in_format(const TensorImpl& like, DType dtype, MemoryFormat format, Device device);
// A copy through the op copy_, which records gradients.
Tensor copy_in_format(TensorImpl& source, DType dtype, MemoryFormat format);

}  // namespace pellucid::intrinsics
