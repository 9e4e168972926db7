#include "transforms/wrapper.h"

#include "autograd/gradient_ops.h"
#include "autograd/tensor_history.h"
#include "core/hooks.h"

namespace pellucid {
namespace {

void destroy_wrapper(Wrapper* wrapper) { delete wrapper; }

// The same wrappers around a value without history. Tangents are dropped, as detach() does everywhere.
TensorImpl* detach_wrapped(TensorImpl& tensor) {
  const Wrapper& wrapper = *tensor.wrapper;
  Tensor value = detach(*wrapper.value);
  if (wrapper.kind == LevelKind::Batch) value = make_batched(std::move(value), wrapper.level);
  return value.leak();
}

[[maybe_unused]] const bool installed =
    (core_hooks.destroy_wrapper = destroy_wrapper, core_hooks.detach_wrapped = detach_wrapped, true);

Tensor zeros_like_geometry(const TensorImpl& tensor) {
  Tensor made = empty_strided(tensor.shape(), tensor.stride(), tensor.dtype, tensor.device);
  if (made->storage->data) std::memset(made->storage->data, 0, made->storage->nbytes);
  return made;
}

// `tensor`'s content, history included, as another tensor.
Tensor moved_out(TensorImpl& tensor) {
  Tensor primal = make_view(tensor, tensor.shape(), tensor.stride(), tensor.offset, true);
  primal->keys = tensor.keys;
  primal->flags = static_cast<uint16_t>((primal->flags & TensorImpl::kHeapGeometry) |
                                        (tensor.flags & ~(TensorImpl::kHeapGeometry | TensorImpl::kPythonState)));
  primal->autograd = std::exchange(tensor.autograd, nullptr);
  primal->base = std::exchange(tensor.base, nullptr);
  return primal;
}

}  // namespace

Tensor make_batched(Tensor value, uint64_t level) {
  Tensor shell = make_shell(*value, value->shape().subspan(1), value->stride().subspan(1));
  shell->flags |= TensorImpl::kPending;
  shell->wrapper = new Wrapper{level, LevelKind::Batch, std::move(value), {}};
  return shell;
}

Tensor make_dual(Tensor primal, Tensor tangent, uint64_t level) {
  Tensor shell = make_shell(*primal, primal->shape(), primal->stride());
  shell->wrapper = new Wrapper{level, LevelKind::Forward, std::move(primal), std::move(tangent)};
  return shell;
}

void become_dual(TensorImpl& tensor, Tensor tangent, uint64_t level) {
  // A view's base gets the tangent, of which the view's is a part.
  if (TensorImpl* base = tensor.base; base && !tensor.wrapper) {
    if (!base->wrapper) become_dual(*base, zeros_like_geometry(*base), level);
    if (Wrapper* of_base = wrapper_at(base, level)) {
      TensorImpl& whole = *of_base->tangent;
      Tensor part = as_strided(whole, tensor.shape(), tensor.stride(), tensor.offset - base->offset + whole.offset);
      copy_into(*part, *tangent);
      tangent = std::move(part);
    }
  }
  Tensor primal;
  if (tensor.wrapper) {
    primal = make_shell(tensor, tensor.shape(), tensor.stride());
    primal->flags = static_cast<uint16_t>(primal->flags | (tensor.flags & TensorImpl::kPending));
    primal->wrapper = std::exchange(tensor.wrapper, nullptr);
  } else {
    primal = moved_out(tensor);
  }
  tensor.flags &= static_cast<uint16_t>(~TensorImpl::kRequiresGrad);
  tensor.keys = Key::Transforms;
  tensor.wrapper = new Wrapper{level, LevelKind::Forward, std::move(primal), std::move(tangent)};
}

TensorImpl* without_dead_levels(TensorImpl* tensor) {
  while (tensor && tensor->wrapper && !find_level(tensor->wrapper->level)) tensor = tensor->wrapper->value.get();
  return tensor;
}

TensorImpl* primal_of(TensorImpl* tensor) {
  while (tensor->wrapper && tensor->wrapper->kind == LevelKind::Forward) tensor = tensor->wrapper->value.get();
  return tensor;
}

Tensor empty_wrapped(const TensorImpl& like, std::span<const int64_t> sizes, DType dtype) {
  if (!like.wrapper) return empty(sizes, dtype, like.device);
  const TensorImpl& value = *like.wrapper->value;
  if (like.wrapper->kind == LevelKind::Forward) return empty_wrapped(value, sizes, dtype);
  std::vector<int64_t> batch{value.sizes[0]};
  batch.insert(batch.end(), sizes.begin(), sizes.end());
  return make_batched(empty_wrapped(value, batch, dtype), like.wrapper->level);
}

}  // namespace pellucid
