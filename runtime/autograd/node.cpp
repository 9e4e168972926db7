#include "autograd/node.h"

#include "autograd/accumulate_grad.h"
#include "autograd/hooks.h"
#include "timeline/recorder.h"

namespace pellucid {
namespace {

// Nodes without references that wait for this thread's outermost `destroy`. They are linked through `task.node`:
// nobody else uses a dead node's task.
struct ReleaseList {
  Node* first = nullptr;
  bool draining = false;
};
thread_local ReleaseList release_list __attribute__((tls_model("initial-exec")));

void free_node(Node* node) {
  if (node->kind == NodeKind::Function && node->outlives_last_count()) return;
  for (Edge& edge : edges_of(*node))
    if (edge.node && edge.node->release()) destroy(edge.node);
  delete std::exchange(node->extras, nullptr);
  node->free_memory();
}

}  // namespace

TensorImpl& leaf_of(const Node& accumulator) { return *static_cast<const AccumulateGrad&>(accumulator).leaf; }

const void* Node::timeline_identity(uint8_t& flags) const {
  flags |= kTextFlag;
  return shared_text(qualified_name());
}

void destroy(Node* node) {
  if (node->kind == NodeKind::Accumulator) return destroy(&leaf_of(*node));
  ReleaseList& list = release_list;
  node->task.node = list.first;
  list.first = node;
  if (list.draining) return;
  list.draining = true;
  while (Node* next = list.first) {
    list.first = next->task.node;
    free_node(next);
  }
  list.draining = false;
}

NodeExtras& extras_of(Node& node) {
  if (!node.extras) node.extras = new NodeExtras;
  return *node.extras;
}

}  // namespace pellucid
