#include "autograd/engine.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "autograd/accumulate_grad.h"
#include "autograd/anomaly.h"
#include "autograd/gradient_ops.h"
#include "autograd/hooks.h"
#include "autograd/tensor_history.h"
#include "core/error.h"
#include "core/format.h"
#include "core/hooks.h"
#include "core/inline_vector.h"
#include "core/recording.h"
#include "core/thread_pool.h"
#include "core/thread_state.h"
#include "timeline/recorder.h"

namespace pellucid {
namespace {

void open_event(TimelineScope& scope, const Node& node, int64_t pass) {
  uint8_t flags = 0;
  const void* identity = node.timeline_identity(flags);
  scope.open(EventKind::Node, identity, flags, node.sequence);
  if (scope.event()) scope.event()->detail = static_cast<uint16_t>(pass);
}

thread_local Node* running __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local BackwardPass* innermost __attribute__((tls_model("initial-exec"))) = nullptr;
std::atomic<int64_t> passes_begun{0};

// Tasks whose gradients are complete, highest sequence first. The first one is stored separately, so that in a
// chain the heap stays empty.
class ReadyQueue {
 public:
  void push(NodeTask* task) {
    const Entry entry{task->node->sequence, task};
    const bool first = next_.task ? entry < next_ : !heap_.empty() && entry < heap_[0];
    if (first) return push_heap(entry);
    if (next_.task) push_heap(next_);
    next_ = entry;
  }
  NodeTask* pop() {
    if (next_.task) return std::exchange(next_, {}).task;
    if (heap_.empty()) return nullptr;
    std::pop_heap(heap_.begin(), heap_.end());
    NodeTask* task = heap_.back().task;
    heap_.pop_back();
    return task;
  }

 private:
  struct Entry {
    uint64_t sequence = 0;
    NodeTask* task = nullptr;
    bool operator<(const Entry& other) const { return sequence < other.sequence; }
  };
  void push_heap(Entry entry) {
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end());
  }

  Entry next_;
  InlineVector<Entry, 32> heap_;
};

// A task for a node whose own task another running pass has claimed.
struct ForeignTask : NodeTask {
  std::vector<Tensor> storage;
  explicit ForeignTask(Node& shared) : storage(shared.num_inputs) {
    node = &shared;
    gradients = storage.data();
  }
};

struct Capture {
  uint32_t input;   // which gradient of the task
  size_t position;  // in the list of inputs
  int32_t next;     // further captures of the same task, or -1
};

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

class SetGradMode {
 public:
  explicit SetGradMode(bool mode) : saved_(std::exchange(thread_state.grad_mode, mode)) {}
  ~SetGradMode() { thread_state.grad_mode = saved_; }

 private:
  bool saved_;
};

class SetRunning {
 public:
  explicit SetRunning(Node* node) : saved_(std::exchange(running, node)) {}
  ~SetRunning() { running = saved_; }

 private:
  Node* saved_;
};

}  // namespace

class BackwardPass {
 public:
  explicit BackwardPass(const BackwardOptions& options) : options_(options) {}
  ~BackwardPass();

  void add_root(Edge edge, Tensor grad);
  void add_late_roots(std::span<const Edge> edges);
  void discover();
  void restrict_to(std::span<const Edge> inputs);
  void run();
  void call_back();
  std::vector<Tensor> take_captured() { return std::move(captured_); }
  bool will_run(Node& node);
  size_t count_running(std::span<const NodeIdentity> nodes);
  bool is_restricted() const { return restricted_; }
  int64_t id() const { return id_; }
  void queue(Ref<Callback> callback) { callbacks_.push_back(std::move(callback)); }

 private:
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
  const int64_t id_ = passes_begun.fetch_add(1, std::memory_order_relaxed);
  BackwardPass* const outer_ = std::exchange(innermost, this);
  bool restricted_ = false;
  bool meets_recorded_ = false;          // a compiled callable recorded some of the ops
  InlineVector<NodeTask*, 64> reached_;  // every task of this pass, in discovery order
  InlineVector<Node*, 8> roots_;         // one reference each, which keeps the whole graph alive
  std::span<const Edge> late_edges_;     // each is a dependency of its task until its gradient arrives
  ReadyQueue ready_;
  std::unordered_map<Node*, std::unique_ptr<ForeignTask>> foreign_;
  std::vector<Capture> captures_;
  std::vector<Tensor> captured_;
  std::vector<Ref<Callback>> callbacks_;
};

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

void BackwardPass::discover() {
  bool meets_recorded = false;
  for (size_t i = 0; i < reached_.size(); ++i) {
    Node& node = *reached_[i]->node;
    meets_recorded |= node.was_recorded;
    for (const Edge& edge : edges_of(node))
      if (edge.node) ++enlist(*edge.node).dependencies;
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
    if (!edge.node) return;
    NodeTask& target = task_of(*edge.node);
    const auto [entry, fresh] = remaining.try_emplace(&target, target.dependencies);
    if (--entry->second == 0) order.push_back(&target);
  };
  std::ranges::for_each(late_edges_, pass_edge);
  for (size_t i = 0; i < order.size(); ++i) std::ranges::for_each(edges_of(*order[i]->node), pass_edge);
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
      if (!edge.node) continue;
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
    TimelineScope event;
    open_event(event, node, id_);
    return evaluate_unrecorded(task, event.event());
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
    if (thread_state.anomaly_mode) warn_of_forward_trace(node);
    throw;
  }
}

void BackwardPass::apply(NodeTask& task, TimelineEvent* event) {
  Node& node = *task.node;
  SetRunning scope(&node);
  GradientList gradients(node.num_edges);
  const std::span<Tensor> grads_out = gradients.span();
  const std::span<Tensor> grads_in{task.gradients, node.num_inputs};
  node.apply(grads_in, grads_out, options_.create_graph);
  if (event) [[unlikely]]
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
    if (!edge.node) continue;
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

namespace {

inline Tensor root_gradient(const Target& root, const Tensor& given, size_t number) {
  const GradientInfo& info = root.edge.node->infos[root.edge.input];
  if (!given) {
    if (std::ranges::any_of(info.shape(), [](int64_t size) { return size != 1; }))
      raise(ErrorKind::Runtime,
            "grad can be implicitly created only for scalar outputs; output %zu has the shape %s.\n"
            "Reduce it first (e.g. .sum()), or pass a gradient of its shape.",
            number, format_sizes(info.shape()).c_str());
    if (category(info.dtype) == DTypeCategory::Complex)
      raise(ErrorKind::Runtime,
            "grad can be implicitly created only for real scalar outputs; output %zu is %s.\n"
            "Differentiate a real function of it (e.g. .abs()), or pass a gradient.",
            number, std::string(name(info.dtype)).c_str());
    return root.tensor && dispatches_to_python(root.tensor->keys) ? one_like(*root.tensor) : one_like(info);
  }
  if (root.tensor && !std::ranges::equal(given->shape(), root.tensor->shape()))
    raise(ErrorKind::Runtime,
          "Mismatch in shape: the gradient given for output %zu has the shape %s, the output has %s", number,
          format_sizes(given->shape()).c_str(), format_sizes(root.tensor->shape()).c_str());
  if ((category(given->dtype) == DTypeCategory::Complex) != (category(info.dtype) == DTypeCategory::Complex))
    raise(ErrorKind::Runtime,
          "the gradient given for output %zu is %s, the output %s: for complex tensors, both must\n"
          "have the same dtype",
          number, std::string(name(given->dtype)).c_str(), std::string(name(info.dtype)).c_str());
  return fits(*given, info) ? given : fit_gradient(given, info, nullptr, 0);
}

// The edges of tensors, each holding a reference that is released at the end.
class OwnedEdges {
 public:
  OwnedEdges() = default;
  // The delegating constructor comes first, so that an error in the middle releases what is owned.
  OwnedEdges(std::span<const Target> targets, const char* what) : OwnedEdges() {
    if (!targets.empty()) add(targets, what);
  }
  ~OwnedEdges() {
    for (const Edge& edge : edges_) Ref<Node>::adopt(edge.node);
  }
  OwnedEdges(const OwnedEdges&) = delete;
  OwnedEdges& operator=(const OwnedEdges&) = delete;
  std::span<const Edge> span() { return {edges_.begin(), edges_.size()}; }

 private:
  void add(std::span<const Target> targets, const char* what) {
    for (size_t i = 0; i < targets.size(); ++i) {
      const Edge edge = targets[i].tensor ? gradient_edge(*targets[i].tensor) : targets[i].edge;
      if (!edge.node)
        raise(ErrorKind::Runtime,
              "%s %zu of tensors does not require grad and does not have a grad_fn: it was not computed from tensors "
              "that\n"
              "require gradients, or under no_grad, or detached. Set requires_grad on what the gradient is for.",
              what, i);
      edge.node->retain();
      edges_.push_back(edge);
    }
  }

  InlineVector<Edge, 8> edges_;
};

void check_used(std::span<const Tensor> captured) {
  for (size_t i = 0; i < captured.size(); ++i)
    if (!captured[i])
      raise(ErrorKind::Runtime,
            "the differentiated tensor at index %zu appears to not have been used in the graph: no output depends\n"
            "on it. Pass allow_unused=True to get None for it, or materialize_grads=True for zeros.",
            i);
}

}  // namespace

bool BackwardPass::take_late_gradient() {
  size_t number = 0;
  Tensor grad;
  if (!options_.late->wait(number, grad)) return false;
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

std::vector<Tensor> run_backward(std::span<const Target> roots, std::span<const Tensor> grads,
                                 std::span<const Target> inputs, const BackwardOptions& options) {
  const auto late_roots = options.late ? options.late->roots : std::span<const Target>{};
  OwnedEdges root_edges(roots, "element"), input_edges(inputs, "input"), late_edges(late_roots, "late root");
  if (options.accumulate)
    for (const Target& input : inputs)
      if (input.tensor) retain_grad(*input.tensor);
  BackwardPass pass(options);
  for (size_t i = 0; i < roots.size(); ++i) {
    const Target root{roots[i].tensor, root_edges.span()[i]};
    pass.add_root(root.edge, root_gradient(root, grads[i], i));
  }
  if (options.late) pass.add_late_roots(late_edges.span());
  SetGradMode mode(options.create_graph);
  pass.discover();
  if (!inputs.empty()) pass.restrict_to(input_edges.span());
  pass.run();
  pass.call_back();
  std::vector<Tensor> captured = pass.take_captured();
  if (!options.allow_unused) check_used(captured);
  return captured;
}

}  // namespace pellucid
