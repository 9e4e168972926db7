// A tensor's history, and the rules for changing it.
//
// Tensors without AutogradMeta have no history of their own. A view whose base requires gradients requires them
// too, even if the base came to require them after the view was made. Called by the Autograd handler, the engine
// and the bindings.
#pragma once

#include <atomic>
#include <optional>

#include "autograd/node.h"
#include "core/tensor.h"

namespace pellucid {

struct AccumulateGrad;
struct TensorHooks;  // autograd/hooks.h

// A one-word lock for short critical sections; waiters sleep.
class WordLock {
 public:
  void lock() {
    while (word_.exchange(1, std::memory_order_acquire)) word_.wait(1, std::memory_order_relaxed);
  }
  bool try_lock() { return !word_.exchange(1, std::memory_order_acquire); }
  void unlock() {
    word_.store(0, std::memory_order_release);
    word_.notify_one();
  }

 private:
  std::atomic<uint32_t> word_{0};
};

constexpr uint32_t kNoVersion = UINT32_MAX;

struct AutogradMeta {
  Tensor grad;        // under `lock`
  Ref<Node> grad_fn;  // null on leaves
  uint32_t output_number = 0;
  uint32_t view_version = kNoVersion;  // of a view: the version for which grad_fn is valid
  WordLock lock;
  bool retains_grad = false;
  bool has_grad_dtype = false;                        // `grad_dtype` was set: it is not the tensor's dtype
  std::optional<DType> grad_dtype;                    // of a leaf's gradients; empty: any
  std::atomic<AccumulateGrad*> accumulator{nullptr};  // owned; of a leaf
  TensorHooks* hooks = nullptr;                       // owned; of a leaf
  void* extra = nullptr;                              // forward-mode values
};

AutogradMeta& autograd_meta(TensorImpl& tensor);  // makes it if absent
// Also updates the Autograd key. No checks: users' calls go through `set_requires_grad_checked`.
void set_requires_grad(TensorImpl& tensor, bool value);
void set_requires_grad_checked(TensorImpl& tensor, bool value);
[[noreturn]] void refuse_flag_of_result(TensorImpl& tensor);

inline bool requires_grad(const TensorImpl& tensor) {
  if (tensor.requires_grad()) return true;
  return tensor.base && tensor.base->requires_grad() && is_differentiable(tensor.dtype);
}

// Whether an op computed `tensor` and its node still exists.
inline bool has_grad_fn(const TensorImpl& tensor) { return tensor.autograd && tensor.autograd->grad_fn; }
// The node that computed `tensor`; null on leaves. A view whose memory has changed since gets a new node.
Node* grad_fn(TensorImpl& tensor);
inline bool is_leaf(TensorImpl& tensor) { return !requires_grad(tensor) || !grad_fn(tensor); }
// Where gradients of `tensor` go; its node is null if it needs none. The node is not retained.
Edge gradient_edge(TensorImpl& tensor);
// The same, with a reference for the caller.
inline Edge retained_edge(TensorImpl& tensor) {
  if (!tensor.base && !tensor.requires_grad()) return {};
  if (!tensor.base && tensor.autograd->grad_fn) [[likely]] {
    tensor.autograd->grad_fn->retain();
    return {tensor.autograd->grad_fn.get(), tensor.autograd->output_number};
  }
  const Edge edge = gradient_edge(tensor);
  if (edge.node) edge.node->retain();
  return edge;
}
// Makes `tensor` output `output` of `node`.
void set_history(TensorImpl& tensor, Ref<Node> node, uint32_t output);

Tensor grad_of(TensorImpl& tensor);              // null if it has none
void set_grad(TensorImpl& tensor, Tensor grad);  // checks shape, dtype and device; null clears
void retain_grad(TensorImpl& tensor);
// The dtype that a leaf's gradients are converted to; empty: they keep their own. By default the leaf's.
std::optional<DType> grad_dtype_of(const TensorImpl& leaf);
void set_grad_dtype(TensorImpl& leaf, std::optional<DType> dtype);  // raises if a gradient has another dtype
bool retains_grad(const TensorImpl& tensor);

Tensor detach(TensorImpl& tensor);       // shares memory and version, no history
Tensor tensor_data(TensorImpl& tensor);  // `.data`: shares memory, a version of its own
void detach_in_place(TensorImpl& tensor);
void set_data(TensorImpl& tensor, TensorImpl& source);  // `.data = source`

// The tensor's type as PyTorch's messages name it: "torch.FloatTensor [2, 3]".
std::string type_and_shape(DType dtype, std::span<const int64_t> sizes);

// Installs the hooks that core/ needs for histories (core/hooks.h); called once, at start-up.
void install_history_hooks();

}  // namespace pellucid
