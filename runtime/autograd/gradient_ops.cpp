#include "autograd/gradient_ops.h"

#include <algorithm>

#include "autograd/handler.h"
#include "autograd/tensor_history.h"
#include "core/backend.h"
#include "core/call_op.h"
#include "core/error.h"
#include "core/float8.h"
#include "core/format.h"
#include "core/geometry.h"
#include "core/kind.h"
#include "core/layout.h"
#include "core/named_ops.h"
#include "core/recording.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

// Sums over the dimensions in which `sizes` was broadcast to the gradient's shape.
Tensor sum_to(TensorImpl& grad, std::span<const int64_t> sizes) {
  int64_t dims[kMaxDims];
  size_t count = 0;
  const size_t leading = grad.ndim - sizes.size();
  for (size_t dim = 0; dim < grad.ndim; ++dim)
    if (dim < leading || (sizes[dim - leading] == 1 && grad.sizes[dim] != 1)) dims[count++] = static_cast<int64_t>(dim);
  Tensor summed = Tensor::share(&grad);
  if (count) summed = call_op(NamedOp::Sum, {Value::of(&grad), Value::of({dims, count}), Value::of_bool(true)});
  return leading ? call_op(NamedOp::View, {Value::of(summed.get()), Value::of(sizes)}) : summed;
}

Tensor cast(TensorImpl& grad, DType dtype) {
  return call_op(NamedOp::ToCopy, {Value::of(&grad), Value::of_dtype(dtype)});
}

template <DType dtype>
void write_eighth(void* data) {
  using Element = typename ElementOf<dtype>::Type;
  *static_cast<Element*>(data) = Float8Encoder<Element>::of(1);
}

void write_one(void* data, DType dtype) {
  switch (dtype) {
    case DType::Float16: *static_cast<uint16_t*>(data) = 0x3C00; return;
    case DType::BFloat16: *static_cast<uint16_t*>(data) = 0x3F80; return;
    case DType::Float32:
    case DType::Complex64: *static_cast<float*>(data) = 1; return;
    case DType::Float64:
    case DType::Complex128: *static_cast<double*>(data) = 1; return;
    case DType::Complex32: *static_cast<uint32_t*>(data) = 0x3C00; return;
    case DType::Float8e4m3fn: return write_eighth<DType::Float8e4m3fn>(data);
    case DType::Float8e4m3fnuz: return write_eighth<DType::Float8e4m3fnuz>(data);
    case DType::Float8e5m2: return write_eighth<DType::Float8e5m2>(data);
    case DType::Float8e5m2fnuz: return write_eighth<DType::Float8e5m2fnuz>(data);
    case DType::Float8e8m0fnu: return write_eighth<DType::Float8e8m0fnu>(data);
    default:
      raise(ErrorKind::Runtime, "a gradient has a floating-point or complex dtype, not %s",
            std::string(name(dtype)).c_str());
  }
}

// An op that copies between devices, or reads a CPU scalar beside a device's tensors, yields its gradient on the
// device where it computed.
bool may_cross(const TensorImpl& grad, const GradientInfo& info, const Node* source) {
  const bool is_meta = grad.device.type == DeviceType::Meta || info.device.type == DeviceType::Meta;
  return source && source->kind == NodeKind::Op && !is_meta;
}

Tensor moved(TensorImpl& grad, Device device) {
  Value target;
  target.tag = Tag::Device;
  target.integer = encode_device(device);
  return call_op(NamedOp::ToCopy, {Value::of(&grad), {}, {}, target});
}

[[noreturn]] void raise_misfit(const TensorImpl& grad, const GradientInfo& info, const Node* source, uint32_t edge) {
  const std::string given = type_and_shape(grad.dtype, grad.shape()), wanted = format_sizes(info.shape());
  if (!source)
    raise(ErrorKind::Runtime, "a gradient of type %s was given; it must have the shape %s", given.c_str(),
          wanted.c_str());
  raise(ErrorKind::Runtime,
        "%s returned a gradient that does not fit: gradient %u is a %s,\n"
        "but the input it belongs to has the shape %s. Return one gradient per input, each of a shape\n"
        "that broadcasting the input could have given.",
        source->name().c_str(), edge, given.c_str(), wanted.c_str());
}

}  // namespace

Tensor add(TensorImpl& a, TensorImpl& b) {
  const bool dense_first = kind_of(a) && !kind_of(b);  // the order that add() accepts for a sparse and a dense operand
  return call_op(NamedOp::Add, {Value::of(dense_first ? &b : &a), Value::of(dense_first ? &a : &b)});
}

void add_into(TensorImpl& sum, TensorImpl& summand) {
  call_op(NamedOp::AddInPlace, {Value::of(&sum), Value::of(&summand)});
}

Tensor clone(TensorImpl& tensor) { return call_op(NamedOp::Clone, {Value::of(&tensor)}); }

void copy_into(TensorImpl& destination, TensorImpl& source) {
  call_op(NamedOp::Copy, {Value::of(&destination), Value::of(&source)});
}

Tensor as_strided(TensorImpl& tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                  int64_t offset) {
  return call_op(NamedOp::AsStrided, {Value::of(&tensor), Value::of(sizes), Value::of(strides), Value::of_int(offset)});
}

Tensor zeros(const GradientInfo& info) {
  Tensor tensor = empty(info.shape(), info.dtype, info.device);
  clear_storage(*tensor->storage);
  note_made(*tensor, true);
  return tensor;
}

Tensor repeated_zero(const GradientInfo& info) {
  const Tensor zero = empty({}, info.dtype, info.device);
  clear_storage(*zero->storage);
  note_made(*zero, true);
  const int64_t strides[kMaxDims] = {};
  return make_view(*zero, info.shape(), {strides, info.shape().size()}, 0, true);
}

bool dispatches_to_python(KeySet keys) {
  const KeySet active = (keys | thread_state.include) - thread_state.exclude;
  return active.has(Key::PythonDispatch) || active.has(Key::PreDispatch);
}

Tensor detached(TensorImpl& tensor) {
  if (!dispatches_to_python(tensor.keys)) return detach(tensor);
  ExcludeKeys below(kHistoryKeys);
  return call_op(NamedOp::Detach, {Value::of(&tensor)});
}

Tensor one_like(TensorImpl& watched) {
  ExcludeKeys below(kHistoryKeys);
  return call_op(NamedOp::OnesLike, {Value::of(&watched)});
}

Tensor one_like(const GradientInfo& info) {
  Tensor tensor = zeros(info);
  char one[sizeof(Complex)] = {};
  write_one(one, info.dtype);
  write_storage(*tensor->storage, one, item_size(info.dtype));
  note_made(*tensor, true);
  return tensor;
}

bool owns_memory_alone(const TensorImpl& tensor) {
  if (tensor.flags & TensorImpl::kPythonState || tensor.storage->deleter || tensor.storage->escaped) return false;
  const Holders holders = holders_of(tensor);
  if (holders.of_tensor != 1) return false;
  if (holders.of_storage == 1) return true;
  // A view whose base has no other owner: the base's reference to the storage goes with the view.
  return tensor.base && holders_of(*tensor.base).of_tensor == 1 && !tensor.base->python && holders.of_storage == 2;
}

void forget_base(TensorImpl& tensor) {
  if (TensorImpl* base = std::exchange(tensor.base, nullptr)) Tensor::adopt(base);
}

Tensor fit_gradient(Tensor grad, const GradientInfo& info, const Node* source, uint32_t edge) {
  const bool crosses = grad->device != info.device;
  if (crosses && !may_cross(*grad, info, source)) raise_misfit(*grad, info, source, edge);
  if (!std::ranges::equal(grad->shape(), info.shape())) {
    if (!can_expand(info.shape(), grad->shape())) raise_misfit(*grad, info, source, edge);
    grad = sum_to(*grad, info.shape());
  }
  if (crosses) grad = moved(*grad, info.device);
  if (grad->dtype == info.dtype || info.any_dtype) return grad;
  const bool loses_part =
      category(grad->dtype) == DTypeCategory::Complex && category(info.dtype) != DTypeCategory::Complex;
  if (loses_part && source && source->kind == NodeKind::Function)
    raise(ErrorKind::Runtime, "%s returned a complex gradient for input %u, which is real (%s): return its real part",
          source->name().c_str(), edge, std::string(name(info.dtype)).c_str());
  return cast(*grad, info.dtype);
}

}  // namespace pellucid
