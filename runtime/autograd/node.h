// The backward graph: nodes and edges.
//
// A node belongs to the op call that made it; its `apply` maps gradients of the op's outputs to gradients of its
// inputs. The engine is in autograd/engine.h, a tensor's link to its node in autograd/tensor_history.h, and the
// nodes of ops in autograd/op_node.h.
#pragma once

#include <algorithm>
#include <atomic>
#include <span>
#include <string>

#include "core/dtype.h"
#include "core/ref.h"
#include "core/storage.h"
#include "core/tensor.h"

namespace pellucid {

struct Node;
struct NodeExtras;   // hooks, metadata, forward trace: autograd/hooks.h
class BackwardPass;  // backward_pass.h

struct Edge {
  Node* node = nullptr;  // owned by the node that holds the edge
  uint32_t input = 0;    // which of the target's gradients this edge feeds
};

// Describes a gradient that flows into a node: the facts of the forward output it belongs to.
struct GradientInfo {
  const int64_t* sizes = nullptr;
  uint8_t ndim = 0;
  DType dtype = DType::Float32;
  Device device;
  bool any_dtype = false;  // `dtype` is only that of gradients made for it

  std::span<const int64_t> shape() const { return {sizes, ndim}; }
};

// A node's state in one backward pass. Each node holds one task; concurrent passes that reach the same node use
// tasks of their own.
struct NodeTask {
  Node* node = nullptr;
  Tensor* gradients = nullptr;  // one per forward output, undefined where nothing arrived
  int32_t dependencies = 0;     // edges that have not delivered a gradient yet
  bool needed = true;           // false: visited only to capture a gradient, or skipped
  int32_t first_capture = -1;   // of the gradients that the pass returns at this node; -1: none
};

enum class NodeKind : uint8_t {
  Op,
  Accumulator,  // belongs to a leaf and shares the leaf's reference count
  Function,     // a Python Function or another hand-written node: its gradients are checked
};

struct Node {
  std::atomic<int32_t> refs{1};
  NodeKind kind = NodeKind::Op;
  bool released : 1 = false;      // saved values were freed by a backward pass
  bool was_recorded : 1 = false;  // a compiled callable's region recorded its op
  uint16_t size_class = 0;        // of the node's own block
  uint32_t num_edges = 0;
  uint32_t num_inputs = 1;        // outputs of the forward op
  uint32_t depth = 0;             // more than that of every node that an edge leads to
  uint64_t sequence = 0;          // higher runs earlier
  Edge* edges = nullptr;          // num_edges of them, in the node's own block
  GradientInfo* infos = nullptr;  // num_inputs of them, in the node's own block
  NodeExtras* extras = nullptr;
  void* python = nullptr;                    // borrowed wrapper, or null; touched with the interpreter lock held
  std::atomic<BackwardPass*> pass{nullptr};  // the pass that is using `task`
  NodeTask task;

  // grads_in: one per forward output (null: undefined). grads_out: one per edge, to be filled in; null means
  // undefined. Grad mode already follows create_graph.
  virtual void apply(std::span<Tensor> grads_in, std::span<Tensor> grads_out, bool create_graph) = 0;
  virtual void release_saved() {}
  virtual std::string name() const = 0;                          // "MulBackward0"
  virtual std::string qualified_name() const { return name(); }  // as `grad_fn.name()` returns it
  // Its identity in the timeline, which lives forever: an op, or with the flag kTextFlag a name.
  virtual const void* timeline_identity(uint8_t& flags) const;
  virtual void free_memory() = 0;  // ends the node's life and frees its block
  // Called when the last reference is released, before anything is freed: true if the node lives on, with a new
  // reference.
  virtual bool outlives_last_count() { return false; }

  void retain();
  bool release();

 protected:
  Node() = default;
  virtual ~Node() = default;
};

// Called when no reference is left. Iterative: a chain of 100,000 nodes does not recurse.
void destroy(Node* node);

NodeExtras& extras_of(Node& node);  // makes them if absent

inline std::span<Edge> edges_of(Node& node) { return {node.edges, node.num_edges}; }

// To be called for each edge of a new node.
inline void deepen(Node& node, const Edge& edge) {
  if (edge.node) node.depth = std::max(node.depth, edge.node->depth + 1);
}
// Of nodes that hold their edges outside of their block: those that it has, and new ones.
inline void set_edges(Node& node, std::span<Edge> edges) {
  for (const Edge& edge : edges.subspan(node.num_edges)) deepen(node, edge);
  node.edges = edges.data();
  node.num_edges = static_cast<uint32_t>(edges.size());
}

// A leaf's accumulator lives as long as its leaf; every other node has a count of its own.
TensorImpl& leaf_of(const Node& accumulator);

inline void Node::retain() {
  if (kind == NodeKind::Accumulator) leaf_of(*this).retain();
  else count_up(refs);
}
inline bool Node::release() {
  if (kind == NodeKind::Accumulator) return leaf_of(*this).release();
  if (kind == NodeKind::Op && refs.load(std::memory_order_acquire) == 1) return true;
  return count_down(refs);
}

}  // namespace pellucid
