// One pass over the backward graph: dependency counts, a queue of tasks whose gradients are complete, captures.
//
// A pass claims each node's own task, or makes a task of its own if another running pass has claimed it. It runs on the
// thread that made it; passes of one thread nest. Called by engine.cpp.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "autograd/engine.h"
#include "autograd/node_streams.h"
#include "autograd/ready_queue.h"
#include "core/inline_vector.h"

namespace pellucid {

struct TimelineEvent;

// A task for a node whose own task another running pass has claimed.
struct ForeignTask : NodeTask {
  std::vector<Tensor> storage;
  explicit ForeignTask(Node& shared) : storage(shared.num_inputs) {
    node = &shared;
    gradients = storage.data();
  }
};

class BackwardPass {
 public:
  explicit BackwardPass(const BackwardOptions& options);
  ~BackwardPass();

  // In this order: roots, discovery, an optional restriction, the run, callbacks.
  void add_root(Edge edge, Tensor grad);
  void add_late_roots(std::span<const Edge> edges);
  void discover(std::span<const Edge> inputs);
  void restrict_to(std::span<const Edge> inputs);
  void run();
  void call_back();
  // The gradients of the inputs that it is restricted to, unless it accumulates.
  std::vector<Tensor> take_captured() { return std::move(captured_); }
  bool will_run(Node& node);
  size_t count_running(std::span<const NodeIdentity> nodes);
  bool is_restricted() const { return restricted_; }
  int64_t id() const { return id_; }
  void queue(Ref<Callback> callback) { callbacks_.push_back(std::move(callback)); }

 private:
  struct Capture {
    uint32_t input;   // which gradient of the task
    size_t position;  // in the list of inputs
    int32_t next;     // further captures of the same task, or -1
  };

  // Whether the edge may lead to an input: nodes that are less deep than all inputs do not belong to the pass, so that
  // gradients of steps of a long graph take time in proportion to the steps.
  bool leads_on(const Edge& edge) const { return edge.node && edge.node->depth >= least_depth_; }
  NodeTask& task_of(Node& node);
  NodeTask& enlist(Node& node);
  bool is_short();
  void evaluate_all();
  bool take_late_gradient();
  void evaluate(NodeTask& task);
  void evaluate_unrecorded(NodeTask& task, TimelineEvent* event);
  void apply(NodeTask& task, TimelineEvent* event);
  void deliver(NodeTask& task, std::span<Tensor> grads_out);
  void capture(const NodeTask& task);

  const BackwardOptions options_;
  const int64_t id_;
  uint64_t last_end_ = 0;  // when the last recorded node ended, in ticks
  BackwardPass* const outer_;
  bool restricted_ = false;
  uint32_t least_depth_ = 0;             // of the inputs that the pass is restricted to
  bool meets_recorded_ = false;          // a compiled callable recorded some of the ops
  InlineVector<NodeTask*, 64> reached_;  // every task of this pass, in discovery order
  InlineVector<Node*, 8> roots_;         // one reference each, which keeps the whole graph alive
  std::span<const Edge> late_edges_;     // each is a dependency of its task until its gradient arrives
  ReadyQueue ready_;
  NodeStreams streams_;
  std::unordered_map<Node*, std::unique_ptr<ForeignTask>> foreign_;
  std::vector<Capture> captures_;
  std::vector<Tensor> captured_;
  std::vector<Ref<Callback>> callbacks_;
};

}  // namespace pellucid
