#include "autograd/hooks.h"

#include "autograd/accumulate_grad.h"
#include "autograd/gradient_ops.h"
#include "autograd/tensor_history.h"

namespace pellucid {
namespace {

void run_leaf_hooks(const AccumulateGrad& node, std::span<Tensor> gradients) {
  const TensorHooks* hooks = node.leaf->autograd->hooks;
  if (!hooks) return;
  const std::vector<Ref<Hook>> before = hooks->before;  // a hook may remove hooks
  for (const Ref<Hook>& hook : before) hook->call(gradients.first(1), {});
}

void accumulate_retained_grad(AutogradMeta& meta, TensorImpl& gradient) {
  Tensor accumulated = meta.grad ? add(*meta.grad, gradient) : clone(gradient);
  std::lock_guard lock(meta.lock);
  std::swap(meta.grad, accumulated);
}

}  // namespace

TensorHooks& hooks_of_leaf(TensorImpl& leaf) {
  AutogradMeta& meta = autograd_meta(leaf);
  if (!meta.hooks) meta.hooks = new TensorHooks;
  return *meta.hooks;
}

void run_tensor_hooks(Node& node, std::span<Tensor> gradients) {
  if (node.kind == NodeKind::Accumulator) run_leaf_hooks(static_cast<AccumulateGrad&>(node), gradients);
  if (!node.extras) return;
  const auto hooks = node.extras->tensor_hooks;
  for (const NodeExtras::OfOutput& entry : hooks)
    if (gradients[entry.output]) entry.hook->call(gradients.subspan(entry.output, 1), {});
  // Held while the gradients are written: a dying tensor waits for it before freeing its AutogradMeta.
  std::lock_guard lock(node.extras->retained_mutex);
  for (const NodeExtras::Retained& entry : node.extras->retained)
    if (gradients[entry.output]) accumulate_retained_grad(*entry.meta, *gradients[entry.output]);
}

void run_before_hooks(Node& node, std::span<Tensor> gradients) {
  if (!node.extras) return;
  const std::vector<Ref<Hook>> hooks = node.extras->before;
  for (const Ref<Hook>& hook : hooks) hook->call(gradients, {});
}

void run_after_hooks(Node& node, std::span<Tensor> grads_out, std::span<const Tensor> grads_in) {
  if (!node.extras) return;
  const std::vector<Ref<Hook>> hooks = node.extras->after;
  for (const Ref<Hook>& hook : hooks) hook->call(grads_out, grads_in);
}

bool has_hooks(const Node& node) {
  if (node.extras) return true;
  return node.kind == NodeKind::Accumulator && leaf_of(node).autograd->hooks;
}

}  // namespace pellucid
