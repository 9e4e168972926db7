#include "autograd/accumulate_grad.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "autograd/gradient_ops.h"
#include "autograd/hooks.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/geometry.h"
#include "core/hooks.h"
#include "core/kind.h"
#include "core/recording.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

constexpr int kAccumulatorClass = size_class(sizeof(AccumulateGrad));

// PyTorch's layout rule: a gradient has its leaf's strides if these are dense and non-overlapping, else it is
// row-major.
bool has_layout_for(const TensorImpl& grad, const TensorImpl& leaf) {
  if (leaf.is_contiguous()) return grad.is_contiguous();
  if (!is_non_overlapping_and_dense(leaf.shape(), leaf.stride())) return grad.is_contiguous();
  return std::ranges::equal(grad.stride(), leaf.stride());
}

thread_local bool layout_enforced = true;

// If nobody else can see `grad`, it becomes the leaf's without a copy.
Tensor take_or_copy(Tensor grad, const TensorImpl& leaf) {
  if (thread_state.grad_mode || !(grad->keys & (kKinds | Key::PythonDispatch)).empty()) {
    const bool is_alone = kind_of(*grad) && grad->unique() && !thread_state.grad_mode;
    return is_alone ? grad : clone(*grad);
  }
  if (has_layout_for(*grad, leaf) || !layout_enforced) {
    if (owns_memory_alone(*grad)) {
      forget_base(*grad);
      return grad;
    }
  }
  const bool dense = is_non_overlapping_and_dense(leaf.shape(), leaf.stride());
  Tensor copy = dense ? empty_strided(leaf.shape(), leaf.stride(), grad->dtype, grad->device)
                      : empty(leaf.shape(), grad->dtype, grad->device);
  note_made(*copy, false);
  copy_into(*copy, *grad);
  return copy;
}

void accumulate(AutogradMeta& meta, TensorImpl& leaf, Tensor grad) {
  Tensor old;
  {
    std::lock_guard lock(meta.lock);
    old = meta.grad;
  }
  const bool densifies = old && kind_of(*old) && !kind_of(*grad);
  if (old && !thread_state.grad_mode && !densifies) return add_into(*old, *grad);
  Tensor sum = old ? add(*old, *grad) : take_or_copy(std::move(grad), leaf);
  note_gradient(leaf, sum.get());
  {
    std::lock_guard lock(meta.lock);
    std::swap(meta.grad, sum);
  }
}

}  // namespace

bool enforce_grad_layout(bool enforce) { return std::exchange(layout_enforced, enforce); }

AccumulateGrad::AccumulateGrad(TensorImpl& leaf_tensor) : leaf(&leaf_tensor) {
  kind = NodeKind::Accumulator;
  sequence = UINT64_MAX;
  infos = &info;
  task.node = this;
  task.gradients = &gradient;
  refresh_info();
}

void AccumulateGrad::refresh_info() {
  const std::optional<DType> dtype = grad_dtype_of(*leaf);
  info = {leaf->sizes, leaf->ndim, dtype.value_or(leaf->dtype), leaf->device, !dtype};
}

// The holder of the lock runs ops, which may need the interpreter.
static std::unique_lock<WordLock> lock_for_accumulation(WordLock& word) {
  std::unique_lock lock(word, std::try_to_lock);
  if (!lock) without_interpreter_lock([&] { lock.lock(); });
  return lock;
}

void AccumulateGrad::apply(std::span<Tensor> grads_in, std::span<Tensor>, bool) {
  if (!grads_in[0]) return;
  AutogradMeta& meta = *leaf->autograd;
  if (meta.grad_fn && !leaf->base) [[unlikely]]
    raise(ErrorKind::Runtime,
          "a gradient arrived for a leaf that has become the result of an op (%s) since the graph was\n"
          "recorded, so that it has no .grad to add to. Do not write to a leaf in place between forward\n"
          "and backward.",
          meta.grad_fn->name().c_str());
  {
    const std::unique_lock guard = lock_for_accumulation(lock);
    accumulate(meta, *leaf, std::move(grads_in[0]));
  }
  if (meta.hooks && !meta.hooks->after_accumulation.empty()) [[unlikely]] {
    const std::vector<Ref<Hook>> hooks = meta.hooks->after_accumulation;  // a hook may remove hooks
    Tensor tensor = Tensor::share(leaf);
    for (const Ref<Hook>& hook : hooks) hook->call({&tensor, 1}, {});
  }
}

void AccumulateGrad::free_memory() {
  delete extras;
  this->~AccumulateGrad();
  free_block(this, kAccumulatorClass);
}

AccumulateGrad& make_accumulator(TensorImpl& leaf) {
  AutogradMeta& meta = autograd_meta(leaf);
  auto* made = new (allocate_block(sizeof(AccumulateGrad), kAccumulatorClass)) AccumulateGrad(leaf);
  AccumulateGrad* expected = nullptr;
  if (meta.accumulator.compare_exchange_strong(expected, made)) return *made;
  made->free_memory();
  return *expected;
}

}  // namespace pellucid
