// The backward graph: nodes, edges, what a tensor knows of them, and the engine's entry points.
//
// A node belongs to the op that made it; its `apply` maps gradients of the op's outputs to gradients
// of its inputs. Nodes are reference-counted; release is iterative (a chain of 100,000 must not recurse).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/op_record.h"
#include "core/tensor.h"

namespace pellucid {

struct Node;

struct Edge {
  Node* node = nullptr;      // owned by the node that holds the edge
  uint32_t input = 0;        // which of the target's gradients this edge feeds
};

struct NodeHooks;            // tensor pre-hooks, node pre-hooks, post-hooks: autograd/hooks.h

struct Node : RefCounted {
  uint64_t sequence = 0;     // higher runs earlier
  uint16_t num_edges = 0;
  uint16_t num_inputs = 1;   // outputs of the forward op
  bool released = false;     // saved values were freed by a backward pass
  Edge* edges = nullptr;     // num_edges of them, in the node's own block
  NodeHooks* hooks = nullptr;
  void* python = nullptr;    // borrowed wrapper, or null

  // grads_in: one per forward output (null: undefined). grads_out: one per edge, to be filled; stay null if undefined.
  virtual void apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph) = 0;
  virtual void release_saved() {}
  virtual std::string name() const = 0;   // "MulBackward0"
  virtual void free_memory() = 0;         // returns the node's own block
 protected:
  virtual ~Node() = default;
};
void destroy(Node* node);

struct AutogradMeta {
  Tensor grad;
  Ref<Node> grad_fn;            // null on leaves
  uint32_t output_number = 0;
  Node* accumulator = nullptr;  // weak: the leaf's AccumulateGrad node while a graph holds it
  bool retains_grad = false;
  NodeHooks* hooks = nullptr;   // hooks of a leaf or of a retained tensor
  void* extra = nullptr;        // view information and forward-mode values (autograd/view_info.h)
};

AutogradMeta& autograd_meta(TensorImpl& tensor);           // makes it when absent
void set_requires_grad(TensorImpl& tensor, bool value);    // keeps the Autograd key in step
Edge gradient_edge(TensorImpl& tensor);                    // retained; node null when it needs no gradient

struct BackwardOptions {
  bool retain_graph = false, create_graph = false, accumulate = true, allow_unused = false;
};
// Runs from `roots` with `grads` (null entries: ones for scalars). With `inputs`: returns their gradients
// when !accumulate (autograd.grad), else accumulates only into them.
std::vector<Tensor> run_backward(std::span<const Tensor> roots, std::span<const Tensor> grads,
                                 std::span<const Tensor> inputs, const BackwardOptions& options);

}  // namespace pellucid
