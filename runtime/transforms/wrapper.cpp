#include "transforms/wrapper.h"

#include "autograd/gradient_ops.h"
#include "autograd/tensor_history.h"
#include "core/backend.h"
#include "core/error.h"
#include "core/hooks.h"
#include "core/named_ops.h"
#include "core/pending.h"
#include "transforms/arguments.h"

namespace pellucid {
namespace {

void destroy_wrapper(Wrapper* wrapper) { delete wrapper; }

// The same wrappers around a value without history. Tangents are dropped, as by detach() everywhere.
TensorImpl* detach_wrapped(TensorImpl& tensor) {
  const Wrapper& wrapper = *tensor.wrapper;
  Tensor value = detach(*wrapper.value);
  if (wrapper.kind == LevelKind::Batch) value = make_batched(std::move(value), wrapper.level, wrapper.uniform);
  if (value->wrapper && wrapper.for_view) value->wrapper->for_view = true;
  return value.leak();
}

Tensor zeros_like_geometry(const TensorImpl& tensor) {
  Tensor made = empty_strided(tensor.shape(), tensor.stride(), tensor.dtype, tensor.device);
  clear_storage(*made->storage);
  return made;
}

// Moves the content of `tensor`, including its history, to a new tensor; `tensor` is about to wrap something.
Tensor moved_out(TensorImpl& tensor) {
  if (tensor.wrapper) {
    Tensor shell = make_shell(tensor, tensor.shape(), tensor.stride());
    shell->wrapper = std::exchange(tensor.wrapper, nullptr);
    return shell;
  }
  Tensor primal = make_view(tensor, tensor.shape(), tensor.stride(), tensor.offset, true);
  primal->keys = tensor.keys;
  primal->flags = static_cast<uint16_t>((primal->flags & TensorImpl::kHeapGeometry) |
                                        (tensor.flags & ~(TensorImpl::kHeapGeometry | TensorImpl::kPythonState)));
  primal->autograd = std::exchange(tensor.autograd, nullptr);
  primal->base = std::exchange(tensor.base, nullptr);
  return primal;
}

void wrap_around(TensorImpl& tensor, Wrapper* wrapper) {
  tensor.flags &= static_cast<uint16_t>(~TensorImpl::kRequiresGrad);
  tensor.flags |= TensorImpl::kNoMemory;
  tensor.keys = Key::Transforms;
  tensor.wrapper = wrapper;
}

}  // namespace

Tensor make_batched(Tensor value, uint64_t level, bool uniform) {
  Tensor shell = make_shell(*value, value->shape().subspan(1), value->stride().subspan(1));
  uniform = uniform && value->sizes[0];
  shell->wrapper = new Wrapper{level, LevelKind::Batch, std::move(value), {}, uniform};
  return shell;
}

Tensor make_dual(Tensor primal, Tensor tangent, uint64_t level) {
  Tensor shell = make_shell(*primal, primal->shape(), primal->stride());
  shell->wrapper = new Wrapper{level, LevelKind::Forward, std::move(primal), std::move(tangent)};
  return shell;
}

void make_dual_in_place(TensorImpl& tensor, Tensor tangent, uint64_t level) {
  if (tensor.base) {  // the base gets the tangent, of which the view's is a part
    if (!wrapper_at(tensor.base, level)) make_dual_in_place(*tensor.base, zeros_like_geometry(*tensor.base), level);
    follow_base(tensor);
    TensorImpl& part = *tensor.wrapper->tangent;
    make_batched_as(part, *tangent);
    return copy_into(part, *tangent);
  }
  Tensor primal = moved_out(tensor);
  wrap_around(tensor, new Wrapper{level, LevelKind::Forward, std::move(primal), std::move(tangent)});
}

void make_batched_in_place(TensorImpl& tensor, const Level& level, bool uniform) {
  if (tensor.base) {
    if (!wrapper_at(tensor.base, level.number)) make_batched_in_place(*tensor.base, level, uniform);
    return follow_base(tensor);
  }
  const bool was_plain = !tensor.wrapper;
  const Tensor content = moved_out(tensor);
  content->bump_version();  // saved views of it refer to the value that it is about to lose
  const std::vector<int64_t> sizes = with_first(level.size, content->shape());
  const std::span<const int64_t> of_all = sizes;
  const Tensor rows = call_op(NamedOp::Expand, {Value::of(content.get()), Value::of(of_all), Value::of_bool(false)});
  Tensor value =
      copied(*rows, sizes, with_first(reach(content->shape(), content->stride()), content->stride()), content->offset);
  wrap_around(tensor, new Wrapper{level.number, LevelKind::Batch, std::move(value), {}, uniform, uniform && was_plain});
}

void make_batched_as(TensorImpl& tensor, const TensorImpl& source) {
  if (!source.wrapper) return;
  const Wrapper& wrapper = *source.wrapper;
  make_batched_as(tensor, *wrapper.value);
  const bool is_outside = !tensor.wrapper || tensor.wrapper->level < wrapper.level;
  if (wrapper.kind == LevelKind::Batch && is_outside) make_batched_in_place(tensor, *find_level(wrapper.level), false);
}

void set_base(TensorImpl* result, TensorImpl& source) {
  if (result && result->wrapper && is_for_view(&source)) result->wrapper->for_view = true;
  if (!result || !result->wrapper || result->base || result == &source || result->dtype != source.dtype) return;
  result->base = Tensor::share(source.base ? source.base : &source).leak();
}

bool fell_behind_base(const TensorImpl& view) {
  const TensorImpl& base = *without_dead_levels(view.base);
  return base.wrapper && (!view.wrapper || view.wrapper->level < base.wrapper->level);
}

void follow_base(TensorImpl& view) {
  if (view.dtype != view.base->dtype || pending_of(view) != pending_of(*innermost_value(view.base)))
    raise(ErrorKind::NotImplemented,
          "writing a batched or dual tensor to a tensor that has a view of another dtype, or a conjugate view");
  Tensor base = Tensor::share(view.base);
  const Tensor part = as_strided(*base, view.shape(), view.stride(), view.offset);
  moved_out(view);
  wrap_around(view, std::exchange(part->wrapper, nullptr));
  if (!view.base) view.base = base.leak();
}

void find_memory(TensorImpl& tensor) {
  const Wrapper& wrapper = *tensor.wrapper;
  if (wrapper.kind == LevelKind::Batch && !wrapper.uniform)
    raise(ErrorKind::Runtime,
          "the values of a tensor inside vmap cannot be read (item(), numpy(), tolist(), a condition on a tensor):\n"
          "they differ between the examples. Write the choice with torch.where, or read them outside of vmap.");
  static_cast<void>(wrapper.value->address());
  Storage* storage = wrapper.value->storage;
  if (storage == tensor.storage) return;
  storage->retain();
  if (tensor.storage->release()) destroy(tensor.storage);
  tensor.storage = storage;
}

TensorImpl* without_dead_levels(TensorImpl* tensor) {
  while (tensor && tensor->wrapper && !find_level(tensor->wrapper->level)) {
    Wrapper& wrapper = *tensor->wrapper;
    if (std::exchange(wrapper.was_plain, false))
      wrapper = {wrapper.level,
                 LevelKind::Forward,
                 call_op(NamedOp::Select, {Value::of(wrapper.value.get()), Value::of_int(0), Value::of_int(0)}),
                 {}};
    tensor = wrapper.value.get();
  }
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
  const std::vector<int64_t> batch = with_first(value.sizes[0], sizes);
  return make_batched(empty_wrapped(value, batch, dtype), like.wrapper->level, like.wrapper->uniform);
}

void install_wrapper_hooks() {
  core_hooks.destroy_wrapper = destroy_wrapper;
  core_hooks.detach_wrapped = detach_wrapped;
}

}  // namespace pellucid
