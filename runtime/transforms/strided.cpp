// Views that have no rule: as_strided, which depends on memory, which a wrapper shares with the tensor that it wraps,
// and views that other ops replace.
#include <algorithm>

#include "autograd/copy_slices.h"
#include "autograd/gradient_ops.h"
#include "core/dispatcher.h"
#include "core/named_ops.h"
#include "transforms/handler.h"
#include "transforms/wrapper.h"

namespace pellucid {
namespace {

// The tangent with its primal's strides.
Tensor with_strides_of(TensorImpl& tangent, const TensorImpl& primal) {
  if (std::ranges::equal(tangent.stride(), primal.stride())) return Tensor::share(&tangent);
  return copied(tangent, primal.shape(), primal.stride(), 0);
}

Tensor copy_strided(TensorImpl& tensor, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  return copied(tensor, sizes, strides, 0);
}

void run(OpCall& call, void*) {
  TensorImpl& self = *without_dead_levels(call.args[0].tensor);
  const auto sizes = call.args[1].ints(), strides = call.args[2].ints();
  const int64_t offset = call.args[3].is_none() ? self.offset : call.args[3].integer;
  Tensor result;
  if (!self.wrapper) {
    const ExcludeKeys below{Key::Transforms};
    result = as_strided(self, sizes, strides, offset);
  } else if (Wrapper& wrapper = *self.wrapper; wrapper.kind == LevelKind::Batch) {
    TensorImpl& value = *wrapper.value;
    result = make_batched(
        as_strided(value, with_first(value.sizes[0], sizes), with_first(value.strides[0], strides), offset),
        wrapper.level, wrapper.uniform);
  } else {
    Tensor& tangent = wrapper.tangent;  // the tangents of views are views of it
    tangent = with_strides_of(*tangent, *wrapper.value);
    result = make_dual(as_strided(*wrapper.value, sizes, strides, offset),
                       as_strided(*tangent, sizes, strides, offset - self.offset + tangent->offset), wrapper.level);
  }
  set_base(result.get(), self);
  call.rets[0] = Value::of(result.leak());
}

// `replacement`: the kernel that calls the op given as `instead` of a view. Its result is a copy, and a write to it
// would be lost.
void run_replaced(OpCall& call, void* replacement) {
  TensorImpl* self = call.args[0].tensor;
  if (!self->wrapper) {
    const ExcludeKeys below{Key::Transforms};
    return dispatch(call);
  }
  const auto& [function, context] = *static_cast<const KernelEntry*>(replacement);
  function(call, context);
  TensorImpl* result = call.rets[0].tensor;
  if (result != self && result->wrapper) result->wrapper->for_view = true;
}

void mark_copies(OpRecord& op, void*) {
  const KernelEntry replacement = entry_at(op, Key::Transforms).kernel;
  if (op.kind != OpKind::View || !replacement.function) return;
  // Lives as long as the record, which is forever.
  register_kernel(op, Key::Transforms, {run_replaced, new KernelEntry(replacement)}, /*replace=*/true);
}

}  // namespace

int64_t reach(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t last = 0;
  for (size_t dim = 0; dim < sizes.size(); ++dim) last += std::max<int64_t>(sizes[dim] - 1, 0) * strides[dim];
  return last + 1;
}

Tensor copied(TensorImpl& given, std::span<const int64_t> sizes, std::span<const int64_t> strides, int64_t offset) {
  TensorImpl& tensor = *without_dead_levels(&given);
  if (!tensor.wrapper) {
    const int64_t span[] = {offset + reach(sizes, strides)};
    Tensor result = make_view(*empty(span, tensor.dtype, tensor.device), sizes, strides, offset, true);
    copy_into(*result, tensor);
    return result;
  }
  const Wrapper& wrapper = *tensor.wrapper;
  if (wrapper.kind == LevelKind::Forward)
    return make_dual(copied(*wrapper.value, sizes, strides, offset), copied(*wrapper.tangent, sizes, strides, offset),
                     wrapper.level);
  return make_batched(copied(*wrapper.value, with_first(wrapper.value->sizes[0], sizes),
                             with_first(reach(sizes, strides), strides), offset),
                      wrapper.level, wrapper.uniform);
}

void register_transforms() {
  install_wrapper_hooks();
  register_fallback(Key::Transforms, {transform_handler, nullptr});
  copy_of_wrapped = copy_strided;
}

void register_view_rules() {
  for_each_op(mark_copies, nullptr);
  register_kernel(named_op(NamedOp::AsStrided), Key::Transforms, {run, nullptr});
}

}  // namespace pellucid
