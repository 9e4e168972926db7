#include "intrinsics/layout.h"

#include "core/geometry.h"
#include "core/named_ops.h"
#include "core/recording.h"
#include "core/thread_state.h"
#include "intrinsics/give.h"
#include "kernels/layout.h"
#include "transforms/wrapper.h"

namespace pellucid::intrinsics {

MemoryFormat format_or(const Value& value, MemoryFormat otherwise) {
  return value.is_none() ? otherwise : static_cast<MemoryFormat>(value.integer);
}

bool has_format(const TensorImpl& tensor, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::Preserve: return true;
    case MemoryFormat::Contiguous: return tensor.is_contiguous();
    case MemoryFormat::ChannelsLast: return tensor.ndim == 4 && is_channels_last(tensor.shape(), tensor.stride());
    case MemoryFormat::ChannelsLast3d: return tensor.ndim == 5 && is_channels_last(tensor.shape(), tensor.stride());
  }
  return false;
}

// A tensor with the shape of `like` in the memory format `format`.
Tensor empty_in_format(const TensorImpl& like, DType dtype, MemoryFormat format, Device device) {
  if (like.wrapper && device == like.device) return empty_wrapped(like, like.shape(), dtype);
  return empty_with_format(like, dtype, format, device);
}

Tensor copy_in_format(TensorImpl& source, DType dtype, MemoryFormat format) {
  // An observer then sees one op instead of a new tensor of unknown origin.
  const bool is_watched = (source.keys | thread_state.include).has(Key::PythonDispatch);
  if (is_watched && (dtype == source.dtype || source.flags & TensorImpl::kNoMemory)) {
    Tensor converted = Tensor::share(&source);
    if (dtype != source.dtype) converted = call_op(NamedOp::ToCopy, {Value::of(&source), Value::of_dtype(dtype)});
    Value order = Value::of_int(static_cast<int64_t>(format));
    order.tag = Tag::MemoryFormat;
    return call_op(NamedOp::Clone, {Value::of(converted.get()), order});
  }
  Tensor target = empty_in_format(source, dtype, format, source.device);
  if (!target->wrapper) note_made(*target, false);
  return call_op(NamedOp::Copy, {Value::of(target.get()), Value::of(&source)});
}

}  // namespace pellucid::intrinsics
