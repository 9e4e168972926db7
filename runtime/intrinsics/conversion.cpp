// contiguous, to and detach: return the tensor itself if it already fits, else a copy or an alias.
#include <span>
#include <string>
#include <vector>

#include "autograd/tensor_history.h"
#include "core/backend.h"
#include "core/kind.h"
#include "core/named_ops.h"
#include "core/pending.h"
#include "intrinsics/give.h"
#include "intrinsics/kernels.h"
#include "intrinsics/layout.h"
#include "intrinsics/repeat.h"
#include "transforms/wrapper.h"

namespace pellucid::intrinsics {
namespace {

struct Target {
  DType dtype;
  Device device;
  bool copy;
  MemoryFormat format;
  bool non_blocking = false;
};

// Whether the strides of all dims are channels-last; dims of size 1 decide if two orders are possible.
bool means_channels_last(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  if ((sizes.size() != 4 && sizes.size() != 5) || strides[1] == 0) return false;
  int64_t least = 0;
  const auto follows = [&](size_t dim) {
    if (sizes[dim] == 0 || strides[dim] < least) return false;
    least = strides[dim] * sizes[dim];
    return true;
  };
  if (!follows(1)) return false;
  for (size_t dim = sizes.size(); dim-- > 2;)
    if (!follows(dim)) return false;
  return least != strides[1] && follows(0);
}

// As in PyTorch, `to` returns the tensor itself if its strides mean the format, `contiguous` if its elements are
// in order.
bool means_format(const TensorImpl& self, MemoryFormat format) {
  if (format == MemoryFormat::Preserve) return true;
  const bool last = means_channels_last(self.shape(), self.stride());
  if (format == MemoryFormat::Contiguous) return !last;
  return last && self.ndim == (format == MemoryFormat::ChannelsLast ? 4 : 5);
}

void convert_to(OpCall& call, const Target& target) {
  TensorImpl& self = *call.args[0].tensor;
  const Device device = with_index(target.device);
  const bool is_numbered_host = device.index < 0 && target.device.index >= 0;  // "cpu:0": a copy, as in PyTorch
  if (device != self.device || is_numbered_host) {
    if (device.type == DeviceType::Meta && !kind_of(self))
      return give(call, empty_in_format(self, target.dtype, target.format, device));
    if (self.device.type == DeviceType::Meta)
      raise(ErrorKind::NotImplemented, "a meta tensor has a shape but no elements to move: use to_empty() on modules");
    require_device(target.device);
    Value wanted;
    wanted.tag = Tag::Device;
    wanted.integer = encode_device(device);
    return give_call(call, named_op(NamedOp::ToCopy),
                     {Value::of_dtype(target.dtype), {}, wanted, {}, Value::of_bool(target.non_blocking)});
  }
  if (target.dtype == self.dtype && !target.copy && means_format(self, target.format)) return give_unchanged(call);
  if (target.format != MemoryFormat::Preserve) return give(call, copy_in_format(self, target.dtype, target.format));
  give_call(call, named_op(NamedOp::ToCopy), {Value::of_dtype(target.dtype)});
}

DType dtype_or(const Value& value, DType otherwise) {
  return value.is_none() ? otherwise : static_cast<DType>(value.integer);
}

}  // namespace

void contiguous(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  const MemoryFormat format = format_or(call.args[1], MemoryFormat::Contiguous);
  if (format == MemoryFormat::Preserve)
    raise(ErrorKind::Runtime, "contiguous(): preserve_format does not name a memory order; omit it");
  if (has_format(self, format)) return give_unchanged(call);
  give(call, copy_in_format(self, self.dtype, format));
}

// view(dtype): the same memory read as another dtype. For another element size, elements are split or merged
// along the last dim, which must be dense.
void view_dtype(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  const DType dtype = static_cast<DType>(call.args[1].integer);
  if (!pending_of(self).empty() && dtype != self.dtype)
    raise(ErrorKind::Runtime,
          "view(dtype): the elements of a tensor with a pending conjugation or negation are not those in its memory.\n"
          "Compute them first: resolve_conj().resolve_neg()");
  const auto before = static_cast<int64_t>(item_size(self.dtype)), after = static_cast<int64_t>(item_size(dtype));
  const auto shape = self.shape(), stride = self.stride();
  std::vector<int64_t> sizes(shape.begin(), shape.end()), strides(stride.begin(), stride.end());
  int64_t offset = self.offset;
  const auto rescale = [&](int64_t count) { return count * before / after; };
  if (before != after) {
    bool fits =
        !sizes.empty() && strides.back() == 1 && sizes.back() * before % after == 0 && offset * before % after == 0;
    for (size_t d = 0; fits && d + 1 < sizes.size(); ++d) fits = strides[d] * before % after == 0;
    if (!fits)
      raise(ErrorKind::Runtime,
            "view(dtype): elements of %s cannot be regrouped into elements of %s: the last dim must be dense, and its "
            "size, the "
            "other strides and the offset multiples of %lld",
            std::string(name(self.dtype)).c_str(), std::string(name(dtype)).c_str(),
            static_cast<long long>(after > before ? after / before : 1));
    sizes.back() = rescale(sizes.back());
    for (size_t d = 0; d + 1 < sizes.size(); ++d) strides[d] = rescale(strides[d]);
    offset = rescale(offset);
  }
  Tensor view = make_view(self, sizes, strides, offset, true);
  view->dtype = dtype;
  give(call, std::move(view));
}

void to_dtype(OpCall& call, void*) {
  const TensorImpl& self = *call.args[0].tensor;
  convert_to(call, {dtype_or(call.args[1], self.dtype), self.device, call.args[3].integer != 0,
                    format_or(call.args[4], MemoryFormat::Preserve)});
}

void to_device(OpCall& call, void*) {
  const TensorImpl& self = *call.args[0].tensor;
  const Device device = call.args[1].is_none() ? self.device : decode_device(call.args[1].integer);
  convert_to(call, {dtype_or(call.args[2], self.dtype), device, call.args[4].integer != 0,
                    format_or(call.args[5], MemoryFormat::Preserve), call.args[3].integer != 0});
}

void to_layout(OpCall& call, void*) {
  if (!call.args[2].is_none() && static_cast<Layout>(call.args[2].integer) != Layout::Strided)
    raise(ErrorKind::NotImplemented, "only the layout torch.strided is supported");
  const TensorImpl& self = *call.args[0].tensor;
  const Device device = call.args[3].is_none() ? self.device : decode_device(call.args[3].integer);
  convert_to(call, {dtype_or(call.args[1], self.dtype), device, call.args[6].integer != 0,
                    format_or(call.args[7], MemoryFormat::Preserve), call.args[5].integer != 0});
}

void to_other(OpCall& call, void*) {
  const TensorImpl& other = *call.args[1].tensor;
  convert_to(call, {other.dtype, other.device, call.args[3].integer != 0,
                    format_or(call.args[4], MemoryFormat::Preserve), call.args[2].integer != 0});
}

void type_as(OpCall& call, void*) {
  const TensorImpl& other = *call.args[1].tensor;
  convert_to(call, {other.dtype, other.device, false, MemoryFormat::Preserve});
}

void detach_view(OpCall& call, void*) {
  give_made(call, [](std::span<TensorImpl* const> tensors) { return detach(*tensors[0]); });
}

void detach_self(OpCall& call, void*) {
  detach_in_place(*innermost_value(call.args[0].tensor));
  give_itself(call, *call.args[0].tensor);
}

}  // namespace pellucid::intrinsics
