// The tasks of a backward pass that can run.
#pragma once

#include <algorithm>
#include <utility>

#include "autograd/node.h"
#include "core/inline_vector.h"

namespace pellucid {

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

}  // namespace pellucid
