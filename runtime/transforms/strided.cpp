// as_strided of wrapped tensors: it names memory, which a wrapper shares with what it wraps.
#include <algorithm>

#include "autograd/copy_slices.h"
#include "autograd/gradient_ops.h"
#include "core/dispatcher.h"
#include "transforms/handler.h"
#include "transforms/wrapper.h"

namespace pellucid {
namespace {

std::vector<int64_t> with_first(int64_t first, std::span<const int64_t> rest) {
  std::vector<int64_t> whole{first};
  whole.insert(whole.end(), rest.begin(), rest.end());
  return whole;
}

// The tangent, lying in memory as its primal does.
Tensor laid_out(TensorImpl& tangent, const TensorImpl& primal) {
  if (std::ranges::equal(tangent.stride(), primal.stride())) return Tensor::share(&tangent);
  Tensor same = empty_strided(primal.shape(), primal.stride(), tangent.dtype, tangent.device);
  copy_into(*same, tangent);
  return same;
}

// The elements that a tensor of this geometry spans in memory.
int64_t reach(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  int64_t last = 0;
  for (size_t dim = 0; dim < sizes.size(); ++dim) last += std::max<int64_t>(sizes[dim] - 1, 0) * strides[dim];
  return last + 1;
}

Tensor copy_laid_out(TensorImpl& given, std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  TensorImpl& tensor = *without_dead_levels(&given);
  if (!tensor.wrapper) {
    Tensor result = empty_strided(sizes, strides, tensor.dtype, tensor.device);
    copy_into(*result, tensor);
    return result;
  }
  const Wrapper& wrapper = *tensor.wrapper;
  if (wrapper.kind == LevelKind::Forward)
    return make_dual(copy_laid_out(*wrapper.value, sizes, strides), copy_laid_out(*wrapper.tangent, sizes, strides),
                     wrapper.level);
  return make_batched(copy_laid_out(*wrapper.value, with_first(wrapper.value->sizes[0], sizes),
                                    with_first(reach(sizes, strides), strides)),
                      wrapper.level);
}

void run(OpCall& call, void*) {
  TensorImpl& self = *without_dead_levels(call.args[0].tensor);
  const auto sizes = call.args[1].ints(), strides = call.args[2].ints();
  const int64_t offset = call.args[3].is_none() ? self.offset : call.args[3].integer;
  Tensor result;
  if (!self.wrapper) {
    const ExcludeKeys below{Key::Transforms};
    result = as_strided(self, sizes, strides, offset);
  } else if (const Wrapper& wrapper = *self.wrapper; wrapper.kind == LevelKind::Batch) {
    TensorImpl& value = *wrapper.value;
    result = make_batched(as_strided(value, with_first(value.sizes[0], sizes), with_first(value.strides[0], strides), offset),
                          wrapper.level);
  } else {
    const Tensor tangent = laid_out(*wrapper.tangent, *wrapper.value);
    result = make_dual(as_strided(*wrapper.value, sizes, strides, offset),
                       as_strided(*tangent, sizes, strides, offset - self.offset + tangent->offset), wrapper.level);
  }
  call.rets[0] = Value::of(result.leak());
}

}  // namespace

void register_transforms() {
  register_fallback(Key::Transforms, {transform_handler, nullptr});
  copy_of_wrapped = copy_laid_out;
  register_kernel(*find_op("as_strided"), Key::Transforms, {run, nullptr});
}

}  // namespace pellucid
