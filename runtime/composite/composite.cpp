#include "composite/composite.h"

#include <algorithm>
#include <optional>

#include "autograd/tensor_history.h"
#include "core/dispatcher.h"
#include "core/error.h"
#include "core/format.h"
#include "core/geometry.h"
#include "core/layout.h"

namespace pellucid {
namespace {

OpRecord& required_op(const char* name) {
  OpRecord* op = find_op(name);
  if (!op) raise(ErrorKind::NotImplemented, "the op %s does not exist", name);
  return *op;
}

Tensor call(OpRecord& op, std::initializer_list<Value> arguments) {
  Value values[kMaxArguments];
  Value results[kMaxReturns];
  const auto& declared = op.schema.arguments;
  std::copy(arguments.begin(), arguments.end(), values);
  for (size_t i = arguments.size(); i < declared.size(); ++i) values[i] = declared[i].default_value;
  OpCall inner{&op, values, results, static_cast<uint8_t>(declared.size()), KeySet()};
  dispatch(inner);
  return Tensor::adopt(results[0].tensor);
}

void give(OpCall& call, Tensor result) { call.rets[0] = Value::of(result.leak()); }
void give_itself(OpCall& call, TensorImpl& tensor) { give(call, Tensor::share(&tensor)); }

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

// A tensor of the shape of `like`, laid out as `format` says.
Tensor empty_in_format(const TensorImpl& like, DType dtype, MemoryFormat format) {
  switch (format) {
    case MemoryFormat::Preserve: return empty_like_layout(like, dtype);
    case MemoryFormat::Contiguous: return empty(like.shape(), dtype, like.device);
    default: break;
  }
  const int ndim = format == MemoryFormat::ChannelsLast ? 4 : 5;
  if (like.ndim != ndim)
    raise(ErrorKind::Runtime, "this channels-last memory format is for tensors of %d dimensions, not %d", ndim, like.ndim);
  int64_t strides[kMaxDims];
  channels_last_strides(like.shape(), strides);
  return empty_strided(like.shape(), {strides, like.ndim}, dtype, like.device);
}

Tensor copy_in_format(TensorImpl& source, DType dtype, MemoryFormat format) {
  static OpRecord& copy = required_op("copy_");
  Tensor target = empty_in_format(source, dtype, format);
  return call(copy, {Value::of(target.get()), Value::of(&source)});
}

void contiguous(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  const MemoryFormat format = format_or(call.args[1], MemoryFormat::Contiguous);
  if (format == MemoryFormat::Preserve)
    raise(ErrorKind::Runtime, "contiguous(): preserve_format names no order of memory; leave it out");
  if (has_format(self, format)) return give_itself(call, self);
  give(call, copy_in_format(self, self.dtype, format));
}

// A view where strides allow one, else a view of a row-major copy.
Tensor reshape_to(TensorImpl& self, Sizes sizes) {
  static OpRecord& view = required_op("view");
  int64_t strides[kMaxDims];
  if (self.is_contiguous() || view_strides(self.shape(), self.stride(), sizes, strides))
    return call(view, {Value::of(&self), Value::of(sizes)});
  const Tensor copy = copy_in_format(self, self.dtype, MemoryFormat::Contiguous);
  return call(view, {Value::of(copy.get()), Value::of(sizes)});
}

void reshape(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  const Sizes given = call.args[1].ints();
  if (given.size() > kMaxDims)
    raise(ErrorKind::Runtime, "reshape(): a tensor has at most %d dimensions, not %zu", kMaxDims, given.size());
  int64_t sizes[kMaxDims];
  infer_size(given, self.numel, sizes);
  give(call, reshape_to(self, {sizes, given.size()}));
}

void flatten(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  const int64_t start = wrap_dim(call.args[1].integer, self.ndim), end = wrap_dim(call.args[2].integer, self.ndim);
  if (start > end)
    raise(ErrorKind::Runtime, "flatten(): start_dim %lld comes after end_dim %lld", static_cast<long long>(start),
          static_cast<long long>(end));
  if (start == end && self.ndim) return give_itself(call, self);
  int64_t sizes[kMaxDims + 1];
  int64_t* next = std::copy_n(self.sizes, start, sizes);
  int64_t merged = 1;
  for (int64_t dim = start; dim < std::min<int64_t>(end + 1, self.ndim); ++dim) merged *= self.sizes[dim];
  *next++ = merged;
  if (end + 1 < self.ndim) next = std::copy(self.sizes + end + 1, self.sizes + self.ndim, next);
  give(call, reshape_to(self, {sizes, static_cast<size_t>(next - sizes)}));
}

struct Target {
  DType dtype;
  Device device;
  bool copy;
  MemoryFormat format;
};

Tensor convert_to(TensorImpl& self, const Target& target) {
  if (target.device.type != self.device.type) {
    if (target.device.type == DeviceType::Meta) return empty_in_format(*empty(self.shape(), self.dtype, target.device),
                                                                       target.dtype, MemoryFormat::Contiguous);
    if (self.device.type == DeviceType::Meta)
      raise(ErrorKind::NotImplemented, "a meta tensor has a shape but no elements to move: use to_empty() on modules");
    raise(ErrorKind::Runtime, "there is no such device in this build: only cpu and meta");
  }
  if (target.dtype == self.dtype && !target.copy && has_format(self, target.format)) return Tensor::share(&self);
  if (target.format != MemoryFormat::Preserve) return copy_in_format(self, target.dtype, target.format);
  static OpRecord& to_copy = required_op("_to_copy");
  return call(to_copy, {Value::of(&self), Value::of_dtype(target.dtype)});
}

DType dtype_or(const Value& value, DType otherwise) {
  return value.is_none() ? otherwise : static_cast<DType>(value.integer);
}

void to_dtype(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  give(call, convert_to(self, {dtype_or(call.args[1], self.dtype), self.device, call.args[3].integer != 0,
                               format_or(call.args[4], MemoryFormat::Preserve)}));
}

void to_device(OpCall& call, void*) {
  TensorImpl& self = *call.args[0].tensor;
  const Device device = call.args[1].is_none() ? self.device : decode_device(call.args[1].integer);
  give(call, convert_to(self, {dtype_or(call.args[2], self.dtype), device, call.args[4].integer != 0,
                               format_or(call.args[5], MemoryFormat::Preserve)}));
}

void to_other(OpCall& call, void*) {
  const TensorImpl& other = *call.args[1].tensor;
  give(call, convert_to(*call.args[0].tensor, {other.dtype, other.device, call.args[3].integer != 0,
                                               format_or(call.args[4], MemoryFormat::Preserve)}));
}

void detach_view(OpCall& call, void*) { give(call, detach(*call.args[0].tensor)); }

void detach_self(OpCall& call, void*) {
  detach_in_place(*call.args[0].tensor);
  give_itself(call, *call.args[0].tensor);
}

void define(const char* schema, BoxedKernel kernel, bool is_function = false) {
  OpRecord& op = *define_op(schema);
  op.kind = OpKind::Composite;
  op.is_method = true;
  op.is_function = is_function;
  register_catch_all(op, {kernel, nullptr});
  // What they call records gradients; they have none of their own.
  register_fall_through(op, Key::Autograd);
  register_fall_through(op, Key::ViewInPlace);
}

}  // namespace

void define_composites() {
  define("contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)", contiguous);
  define("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", reshape, true);
  define("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", flatten, true);
  define("to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, *, "
         "MemoryFormat? memory_format=None) -> Tensor(a)", to_dtype);
  define("to.device(Tensor(a) self, Device? device=None, ScalarType? dtype=None, bool non_blocking=False, "
         "bool copy=False, *, MemoryFormat? memory_format=None) -> Tensor(a)", to_device);
  define("to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, *, "
         "MemoryFormat? memory_format=None) -> Tensor(a)", to_other);
  define("detach(Tensor(a) self) -> Tensor(a)", detach_view, true);
  define("detach_(Tensor(a!) self) -> Tensor(a!)", detach_self, true);
}

}  // namespace pellucid
