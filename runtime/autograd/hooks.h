// Gradient hooks: on tensors, on nodes, and after accumulation into a leaf's gradient.
//
// A hook sees gradients and may replace them in place. Python's hooks are in python/autograd/hooks.cpp.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "autograd/node.h"
#include "autograd/saved_hooks.h"
#include "core/ref.h"

namespace pellucid {

struct AutogradMeta;

struct Hook : RefCounted {
  virtual ~Hook() = default;
  // gradients: may be replaced. others: for a post-hook, the incoming gradients.
  virtual void call(std::span<Tensor> gradients, std::span<const Tensor> others) = 0;
};
inline void destroy(Hook* hook) { delete hook; }

// Data that a node carries for Python; freed with the node.
struct Attachment : RefCounted {
  virtual ~Attachment() = default;
};
inline void destroy(Attachment* attachment) { delete attachment; }

// The hooks of a leaf.
struct TensorHooks {
  std::vector<Ref<Hook>> before;              // Tensor.register_hook
  std::vector<Ref<Hook>> after_accumulation;  // register_post_accumulate_grad_hook
};

struct NodeExtras {
  struct OfOutput {
    uint32_t output;
    Ref<Hook> hook;
  };
  struct Retained {
    uint32_t output;
    AutogradMeta* meta;
  };  // weak: a dying tensor removes itself

  std::vector<OfOutput> tensor_hooks;    // hooks of the node's output tensors
  std::vector<Ref<Hook>> before, after;  // register_prehook, register_hook
  std::mutex retained_mutex;
  std::vector<Retained> retained;  // tensors with retain_grad
  std::vector<PackedSlot> packed;  // saved tensors that hooks hold
  std::vector<Tensor> results;     // of a watched call: what the gradient op that modes see may read
  Ref<Attachment> metadata;        // Python's `metadata` dict
  int64_t stream = 0;              // of the forward op's device (autograd/node_streams.h)
  uint32_t forward_stack = 0;      // anomaly mode: where the forward call was made (autograd/anomaly.h)
};

TensorHooks& hooks_of_leaf(TensorImpl& leaf);  // makes them if absent

// In PyTorch's order: hooks of tensors, then retained gradients.
void run_tensor_hooks(Node& node, std::span<Tensor> gradients);
void run_before_hooks(Node& node, std::span<Tensor> gradients);
void run_after_hooks(Node& node, std::span<Tensor> grads_out, std::span<const Tensor> grads_in);

// Whether the node has any hooks or retained gradients.
bool has_hooks(const Node& node);

}  // namespace pellucid
