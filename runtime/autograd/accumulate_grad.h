// AccumulateGrad: the node at the end of the graph that adds into a leaf's `.grad`.
//
// It belongs to its leaf: the leaf's AutogradMeta owns its memory, and the node shares the leaf's reference
// count, so that it is made once and edges to it keep the leaf alive.
#pragma once

#include "autograd/node.h"
#include "autograd/tensor_history.h"
#include "timeline/events.h"

namespace pellucid {

struct AccumulateGrad final : Node {
  TensorImpl* leaf;  // not counted: the leaf owns this node
  WordLock lock;     // one accumulation at a time; waiters release the interpreter lock
  GradientInfo info;
  Tensor gradient;  // storage for task.gradients

  explicit AccumulateGrad(TensorImpl& leaf);
  void refresh_info();  // after the leaf's data was replaced
  void apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph) override;
  std::string name() const override { return "AccumulateGrad"; }
  static constexpr const char* kName = "torch::autograd::AccumulateGrad";
  std::string qualified_name() const override { return kName; }
  const void* timeline_identity(uint8_t& flags) const override {
    flags |= kTextFlag;
    return kName;
  }
  void free_memory() override;  // called by the leaf's AutogradMeta
};

// Whether this thread's backward passes copy a leaf's first gradient into the leaf's layout (the default), or
// take the gradient with its own strides. Returns the previous setting.
bool enforce_grad_layout(bool enforce);

// Thread-safe.
AccumulateGrad& make_accumulator(TensorImpl& leaf);
// The leaf's accumulator, made if absent.
inline AccumulateGrad& accumulator_of(TensorImpl& leaf) {
  if (leaf.autograd)
    if (AccumulateGrad* node = leaf.autograd->accumulator.load(std::memory_order_acquire)) return *node;
  return make_accumulator(leaf);
}

}  // namespace pellucid
