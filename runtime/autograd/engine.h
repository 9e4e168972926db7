// The engine's entry point: runs the backward graph from given roots.
//
// Every call has its own state, so passes may nest (a hook or Function that calls backward) and run on several
// threads at once, even over shared nodes. The calling thread does the work; nodes and hooks written in Python
// take the interpreter lock themselves, and passes over many elements or nodes release it for other threads.
#pragma once

#include <span>
#include <vector>

#include "autograd/node.h"

namespace pellucid {

struct LateGradients;

struct BackwardOptions {
  bool retain_graph = false;  // keep saved values for another pass
  bool create_graph = false;  // record the pass itself
  bool accumulate = true;     // into .grad (backward); false: return gradients (autograd.grad)
  bool allow_unused = false;  // an input on which no root depends yields null
  LateGradients* late = nullptr;
};

// A tensor's position in the graph, or a GradientEdge given by the user.
struct Target {
  TensorImpl* tensor = nullptr;  // null: only `edge` is set
  Edge edge;
};

// Additional roots whose gradients arrive from other processes while the pass runs. What depends on them waits.
struct LateGradients {
  std::span<const Target> roots;

  explicit LateGradients(std::span<const Target> given) : roots(given) {}
  virtual ~LateGradients() = default;
  // Called when nothing else can run: waits for the next gradient and returns it with its root. False: all have
  // arrived.
  virtual bool wait(size_t& root, Tensor& grad) = 0;
};

// Runs from `roots` with `grads` (null entries: ones, for tensors of one element). With `inputs`: returns their
// gradients if !accumulate, else accumulates into these inputs only.
std::vector<Tensor> run_backward(std::span<const Target> roots, std::span<const Tensor> grads,
                                 std::span<const Target> inputs, const BackwardOptions& options);

// The node that this thread is running in a backward pass, or null: for nested calls and messages.
Node* running_node();

// The number of this thread's innermost pass; -1 outside of passes.
int64_t current_pass_id();
// Whether no pass of this thread is restricted to some inputs, as nested passes inside Functions require.
bool accumulates_into_all();
// Whether the innermost pass reaches `node` and needs its gradients. Raises outside of passes.
bool will_run(Node& node);
// The number of these nodes that the pass runs, given by address and sequence number, for callers that must not
// keep the nodes alive.
struct NodeIdentity {
  uintptr_t address;
  uint64_t sequence;
};
size_t count_running(std::span<const NodeIdentity> nodes);

struct Callback : RefCounted {
  virtual ~Callback() = default;
  virtual void call() = 0;
};
inline void destroy(Callback* callback) { delete callback; }
// Queues a callback for when this thread's innermost pass has ended without error. Raises outside of passes.
void queue_callback(Ref<Callback> callback);

}  // namespace pellucid
