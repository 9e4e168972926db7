// The engine's entry point: runs the backward graph from some tensors.
//
// Every call has its own state, so passes may nest (a hook or Function that calls backward) and run
// on several threads at once, also over shared nodes. The calling thread does the work; nodes and
// hooks written in Python take the interpreter lock themselves, and passes over many elements or nodes
// give it to other threads.
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
  bool allow_unused = false;  // an input that the roots do not depend on gives null
  LateGradients* late = nullptr;
};

// A tensor's place in the graph, or a GradientEdge given by the user.
struct Target {
  TensorImpl* tensor = nullptr;  // null: `edge` alone
  Edge edge;
};

// Further roots whose gradients come while the pass runs: from other processes. What depends on them waits.
struct LateGradients {
  std::span<const Target> roots;

  explicit LateGradients(std::span<const Target> given) : roots(given) {}
  virtual ~LateGradients() = default;
  // Called once nothing else can run: waits for the next gradient and says of which root. False: all are there.
  virtual bool wait(size_t& root, Tensor& grad) = 0;
};

// Runs from `roots` with `grads` (null entries: ones, for tensors of one element). With `inputs`:
// returns their gradients when !accumulate, else accumulates into them alone.
std::vector<Tensor> run_backward(std::span<const Target> roots, std::span<const Tensor> grads,
                                 std::span<const Target> inputs, const BackwardOptions& options);

// Whether this thread is inside a backward pass, and which node runs: for nested calls and messages.
Node* running_node();

// The number of the innermost pass of this thread; -1 outside of passes.
int64_t current_pass_id();
// Whether no pass of this thread is limited to some inputs: what nested passes inside Functions need.
bool accumulates_into_all();
// Whether that pass reaches `node` and needs its gradients. Raises outside of passes.
bool will_run(Node& node);
// How many of these that pass runs, by address and sequence number: for who must not keep the nodes alive.
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
// To be called when the innermost pass of this thread has ended well. Raises outside of passes.
void queue_callback(Ref<Callback> callback);

}  // namespace pellucid
