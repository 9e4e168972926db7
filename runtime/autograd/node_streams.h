// Streams of devices in the backward pass: a node runs on the stream on which its forward op ran.
//
// Where a pass goes on to another stream, that one first waits for all work of the previous one, and at the end of the
// pass each of its streams waits for the last. So memory that several use needs no events of its own, then or later.
#pragma once

#include <vector>

#include "autograd/node.h"

namespace pellucid {

// Called when a node of an op is made.
void note_stream(Node& node);

class NodeStreams {
 public:
  NodeStreams() = default;
  ~NodeStreams() { leave(); }
  NodeStreams(const NodeStreams&) = delete;
  NodeStreams& operator=(const NodeStreams&) = delete;

  // Makes the stream of the node's forward op the thread's current one.
  void enter(const Node& node) {
    const bool is_op = node.kind == NodeKind::Op && node.num_inputs;
    if (is_op && node.infos[0].device.type != DeviceType::CPU) [[unlikely]]
      follow(node);
  }
  // Returns to the caller's streams.
  void leave();

 private:
  struct Left {
    Device device;
    int64_t stream;                // the caller's
    std::vector<int64_t> visited;  // the others
  };
  void follow(const Node& node);

  std::vector<Left> left_;
};

}  // namespace pellucid
