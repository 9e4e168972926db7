#include "autograd/backward_pass.h"

#include <algorithm>
#include <atomic>

#include "autograd/anomaly.h"
#include "autograd/gradient_ops.h"
#include "autograd/hooks.h"
#include "autograd/root_gradient.h"
#include "core/error.h"
#include "core/hooks.h"
#include "core/recording.h"
#include "core/thread_pool.h"
#include "core/thread_state.h"
#include "timeline/recorder.h"

namespace pellucid {
namespace {

thread_local Node* running __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local BackwardPass* innermost __attribute__((tls_model("initial-exec"))) = nullptr;
std::atomic<int64_t> passes_begun{0};

// `begin`: when the node before it ended. If nothing ran since, the clock is not read again.
void open_event(TimelineScope& scope, const Node& node, int64_t pass, uint64_t begin) {
  uint8_t flags = 0;
  const void* identity = node.timeline_identity(flags);
  if (ThreadTimeline* timeline = thread_timeline())
    scope.open(*timeline, EventKind::Node, identity, flags, node.sequence, timeline->last_tick == begin ? begin : 0);
  if (scope.event()) scope.event()->detail = static_cast<uint16_t>(pass);
}

// The gradients that a node passes to its edges.
class GradientList {
 public:
  explicit GradientList(uint32_t count) : count_(count) {
    if (count > kInline) [[unlikely]]
      many_ = std::make_unique<Tensor[]>(count);
  }
  GradientList(const GradientList&) = delete;
  GradientList& operator=(const GradientList&) = delete;
  std::span<Tensor> span() { return {many_ ? many_.get() : few_, count_}; }

 private:
  static constexpr uint32_t kInline = 4;
  const uint32_t count_;
  Tensor few_[kInline];  // always all of them: two stores, where a count would need a loop
  std::unique_ptr<Tensor[]> many_;
};

class SetRunning {
 public:
  explicit SetRunning(Node* node) : saved_(std::exchange(running, node)) {}
  ~SetRunning() { running = saved_; }

 private:
  Node* saved_;
};

}  // namespace

BackwardPass::BackwardPass(const BackwardOptions& options)
    : options_(options), id_(passes_begun.fetch_add(1, std::memory_order_relaxed)),
      outer_(std::exchange(innermost, this)) {}

BackwardPass::~BackwardPass() {
  innermost = outer_;
  for (NodeTask* task : reached_) {
    Node& node = *task->node;
    for (uint32_t i = 0; i < node.num_inputs; ++i) task->gradients[i] = {};
    if (task == &node.task) node.pass.store(nullptr, std::memory_order_release);
  }
  for (Node* root : roots_) Ref<Node>::adopt(root);
}

inline NodeTask& BackwardPass::task_of(Node& node) {
  if (node.pass.load(std::memory_order_relaxed) == this) [[likely]]
    return node.task;
  return *foreign_.find(&node)->second;
}

// The node's own task if no other pass has claimed it. A node once served by a foreign task stays so in this pass.
inline NodeTask& BackwardPass::enlist(Node& node) {
  BackwardPass* owner = node.pass.load(std::memory_order_relaxed);
  if (owner == this) return node.task;
  if (!foreign_.empty()) [[unlikely]]
    if (const auto found = foreign_.find(&node); found != foreign_.end()) return *found->second;
  if (!owner && node.pass.compare_exchange_strong(owner, this, std::memory_order_acquire)) [[likely]] {
    node.task.dependencies = 0;
    node.task.needed = true;
    node.task.first_capture = -1;
    reached_.push_back(&node.task);
    return node.task;
  }
  NodeTask& task = *(foreign_[&node] = std::make_unique<ForeignTask>(node));
  reached_.push_back(&task);
  return task;
}

void BackwardPass::add_root(Edge edge, Tensor grad) {
  edge.node->retain();
  roots_.push_back(edge.node);
  Tensor& slot = enlist(*edge.node).gradients[edge.input];
  slot = slot ? add(*slot, *grad) : std::move(grad);
}

void BackwardPass::add_late_roots(std::span<const Edge> edges) {
  late_edges_ = edges;
  for (const Edge& edge : edges) {
    edge.node->retain();
    roots_.push_back(edge.node);
    ++enlist(*edge.node).dependencies;
  }
}

void BackwardPass::discover(std::span<const Edge> inputs) {
  if (!inputs.empty())
    least_depth_ = std::ranges::min(inputs, {}, [](const Edge& e) { return e.node->depth; }).node->depth;
  bool meets_recorded = false;
  for (size_t i = 0; i < reached_.size(); ++i) {
    Node& node = *reached_[i]->node;
    meets_recorded |= node.was_recorded;
    for (const Edge& edge : edges_of(node))
      if (leads_on(edge)) ++enlist(*edge.node).dependencies;
  }
  meets_recorded_ = meets_recorded;
}

// Marks the tasks that lead to `inputs`; all others are skipped.
void BackwardPass::restrict_to(std::span<const Edge> inputs) {
  restricted_ = true;
  std::vector<NodeTask*> order;  // every task before those that its edges lead to
  std::unordered_map<NodeTask*, int32_t> remaining;
  for (NodeTask* task : reached_) {
    task->needed = false;
    if (!task->dependencies) order.push_back(task);
  }
  const auto pass_edge = [&](const Edge& edge) {
    NodeTask& target = task_of(*edge.node);
    const auto [entry, fresh] = remaining.try_emplace(&target, target.dependencies);
    if (--entry->second == 0) order.push_back(&target);
  };
  std::ranges::for_each(late_edges_, pass_edge);
  for (size_t i = 0; i < order.size(); ++i)
    for (const Edge& edge : edges_of(*order[i]->node))
      if (leads_on(edge)) pass_edge(edge);
  if (!options_.accumulate) captured_.resize(inputs.size());
  for (size_t position = 0; position < inputs.size(); ++position) {
    Node& node = *inputs[position].node;
    const bool reached = node.pass.load(std::memory_order_relaxed) == this || foreign_.contains(&node);
    if (!reached) continue;
    NodeTask& task = task_of(node);
    if (options_.accumulate) {
      task.needed = true;
      continue;
    }
    captures_.push_back({inputs[position].input, position, task.first_capture});
    task.first_capture = static_cast<int32_t>(captures_.size()) - 1;
  }
  for (size_t i = order.size(); i-- > 0;)
    for (const Edge& edge : edges_of(*order[i]->node)) {
      if (!leads_on(edge)) continue;
      const NodeTask& target = task_of(*edge.node);
      if (target.needed || target.first_capture >= 0) order[i]->needed = true;
    }
}

// A pass of few nodes over few elements, for which releasing and reacquiring the interpreter lock would take
// longer than other threads might wait.
bool BackwardPass::is_short() {
  constexpr size_t kMostNodes = 16;
  if (reached_.size() > kMostNodes) return false;
  int64_t elements = 0;
  for (const NodeTask* task : reached_)
    for (const GradientInfo& info : std::span(task->node->infos, task->node->num_inputs)) {
      int64_t product = 1;
      for (const int64_t size : info.shape())
        if ((product *= size) > kParallelGrain) return false;
      elements += product;
    }
  return elements <= kParallelGrain;
}

void BackwardPass::run() {
  if (!options_.late && is_short()) evaluate_all();
  else without_interpreter_lock([this] { evaluate_all(); });
}

// Derivatives of recorded ops are recorded too.
void BackwardPass::evaluate_all() {
  JoinedRegion region(meets_recorded_);
  for (NodeTask* task : reached_)
    if (!task->dependencies) ready_.push(task);
  do
    while (NodeTask* task = ready_.pop()) evaluate(*task);
  while (options_.late && take_late_gradient());
  streams_.leave();
  region.finish();
}

// A callback may queue more callbacks.
void BackwardPass::call_back() {
  for (size_t i = 0; i < callbacks_.size(); ++i) Ref<Callback>(callbacks_[i])->call();
}

bool BackwardPass::will_run(Node& node) {
  if (node.pass.load(std::memory_order_relaxed) != this && !foreign_.contains(&node)) return false;
  const NodeTask& task = task_of(node);
  return !restricted_ || task.needed || task.first_capture >= 0;
}

size_t BackwardPass::count_running(std::span<const NodeIdentity> nodes) {
  size_t count = 0;
  for (const NodeTask* task : reached_) {
    if (restricted_ && !task->needed && task->first_capture < 0) continue;
    count += static_cast<size_t>(std::ranges::count_if(nodes, [&](const NodeIdentity& node) {
      return node.address == reinterpret_cast<uintptr_t>(task->node) && node.sequence == task->node->sequence;
    }));
  }
  return count;
}

void BackwardPass::capture(const NodeTask& task) {
  for (int32_t i = task.first_capture; i >= 0; i = captures_[static_cast<size_t>(i)].next) {
    const Capture& capture = captures_[static_cast<size_t>(i)];
    captured_[capture.position] = task.gradients[capture.input];
  }
}

void BackwardPass::evaluate(NodeTask& task) {
  Node& node = *task.node;
  if (restricted_) [[unlikely]] {
    std::span<Tensor> grads_in{task.gradients, node.num_inputs};
    // As in PyTorch, hooks change a captured gradient only where the pass ends.
    if (!task.needed && task.first_capture >= 0 && has_hooks(node)) run_tensor_hooks(node, grads_in);
    capture(task);
    if (!task.needed) return;
  }
  if (is_watched(kWatchCalls)) [[unlikely]] {
    {
      TimelineScope event;
      open_event(event, node, id_, last_end_);
      evaluate_unrecorded(task, event.event());
    }
    last_end_ = own_timeline ? own_timeline->last_tick : 0;
    return;
  }
  evaluate_unrecorded(task, nullptr);
}

inline void BackwardPass::evaluate_unrecorded(NodeTask& task, TimelineEvent* event) {
  Node& node = *task.node;
  if (has_hooks(node)) [[unlikely]] {
    std::span<Tensor> grads_in{task.gradients, node.num_inputs};
    run_tensor_hooks(node, grads_in);
    run_before_hooks(node, grads_in);
  }
  try {
    apply(task, event);
  } catch (...) {
    if (thread_state.anomaly_mode) warn_of_forward_call(node);
    throw;
  }
}

void BackwardPass::apply(NodeTask& task, TimelineEvent* event) {
  Node& node = *task.node;
  SetRunning scope(&node);
  GradientList gradients(node.num_edges);
  const std::span<Tensor> grads_out = gradients.span();
  const std::span<Tensor> grads_in{task.gradients, node.num_inputs};
  streams_.enter(node);
  node.apply(grads_in, grads_out, options_.create_graph);
  if (event && node.num_edges) [[unlikely]]
    event->extra = ticks();
  if (!options_.retain_graph) node.release_saved();
  if (node.extras) [[unlikely]]
    run_after_hooks(node, grads_out, grads_in);
  for (Tensor& grad : grads_in) grad = {};
  if (thread_state.anomaly_mode && anomaly_checks_nan) [[unlikely]]
    check_for_nan(node, grads_out);
  deliver(task, grads_out);
}

void BackwardPass::deliver(NodeTask& task, std::span<Tensor> grads_out) {
  Node& node = *task.node;
  for (uint32_t i = 0; i < node.num_edges; ++i) {
    const Edge edge = node.edges[i];
    if (!leads_on(edge)) continue;
    NodeTask& target = task_of(*edge.node);
    if (target.needed || target.first_capture >= 0) [[likely]] {
      if (Tensor& grad = grads_out[i]) {
        const GradientInfo& info = edge.node->infos[edge.input];
        if (!fits(*grad, info)) [[unlikely]]
          grad = fit_gradient(std::move(grad), info, &node, i);
        Tensor& slot = target.gradients[edge.input];
        if (!slot) slot = std::move(grad);
        else if (!options_.create_graph && slot->is_contiguous() && owns_memory_alone(*slot) && !grad->wrapper &&
                 !dispatches_to_python(slot->keys | grad->keys))
          add_into(*slot, *grad);
        else slot = add(*slot, *grad);
      }
      if (--target.dependencies == 0) ready_.push(&target);
    }
  }
}

bool BackwardPass::take_late_gradient() {
  size_t number = 0;
  Tensor grad;
  if (!options_.late->wait(number, grad)) return false;
  last_end_ = 0;  // the next node begins after the wait
  const Edge edge = late_edges_[number];
  NodeTask& task = task_of(*edge.node);
  if (grad) {
    grad = root_gradient({options_.late->roots[number].tensor, edge}, grad, number);
    Tensor& slot = task.gradients[edge.input];
    slot = slot ? add(*slot, *grad) : std::move(grad);
  }
  if (--task.dependencies == 0) ready_.push(&task);
  return true;
}

Node* running_node() { return running; }

int64_t current_pass_id() { return innermost ? innermost->id() : -1; }

bool accumulates_into_all() { return !innermost || !innermost->is_restricted(); }

bool will_run(Node& node) {
  if (!innermost) raise(ErrorKind::Runtime, "whether a node will run is known only during a backward pass");
  return innermost->will_run(node);
}

size_t count_running(std::span<const NodeIdentity> nodes) {
  if (!innermost) raise(ErrorKind::Runtime, "which nodes will run is known only during a backward pass");
  return innermost->count_running(nodes);
}

void queue_callback(Ref<Callback> callback) {
  if (!innermost) raise(ErrorKind::Runtime, "callbacks can be queued only during a backward pass");
  innermost->queue(std::move(callback));
}

}  // namespace pellucid
