#include "autograd/engine.h"

#include "autograd/accumulate_grad.h"
#include "autograd/backward_pass.h"
#include "autograd/root_gradient.h"
#include "autograd/tensor_history.h"
#include "core/error.h"
#include "core/inline_vector.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

class SetGradMode {
 public:
  explicit SetGradMode(bool mode) : saved_(std::exchange(thread_state.grad_mode, mode)) {}
  ~SetGradMode() { thread_state.grad_mode = saved_; }

 private:
  bool saved_;
};

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
  pass.discover(input_edges.span());
  if (!inputs.empty()) pass.restrict_to(input_edges.span());
  pass.run();
  pass.call_back();
  std::vector<Tensor> captured = pass.take_captured();
  if (!options.allow_unused) check_used(captured);
  return captured;
}

}  // namespace pellucid
