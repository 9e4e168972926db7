#include "autograd/node_streams.h"

#include <algorithm>
#include <span>

#include "autograd/hooks.h"
#include "core/backend.h"
#include "core/error.h"

namespace pellucid {
namespace {

// Makes streams wait for the work of another.
void let_wait(Device device, std::span<const int64_t> streams, int64_t other) {
  Backend& backend = backend_of(device);
  const uint64_t event = backend.record(device, other);
  for (const int64_t stream : streams)
    if (stream != other) backend.wait(device, stream, event);
  backend.drop_event(device, event);
}

void go_on(Device device, int64_t stream) {
  let_wait(device, {&stream, 1}, current_stream(device));
  set_current_stream(device, stream);
}

}  // namespace

void note_stream(Node& node) {
  if (!node.num_inputs || node.infos[0].device.type == DeviceType::CPU) [[likely]]
    return;
  if (const int64_t stream = current_stream(node.infos[0].device)) extras_of(node).stream = stream;
}

void NodeStreams::follow(const Node& node) {
  const Device device = node.infos[0].device;
  const int64_t wanted = node.extras ? node.extras->stream : 0, current = current_stream(device);
  const Backend* const backend = find_backend(device.type);
  if (wanted == current || !backend || !backend->has_streams()) return;
  auto left = std::ranges::find(left_, device, &Left::device);
  if (left == left_.end()) left = left_.insert(left, {device, current, {}});
  if (wanted != left->stream && !std::ranges::count(left->visited, wanted)) left->visited.push_back(wanted);
  go_on(device, wanted);
}

void NodeStreams::leave() {
  for (const auto& [device, stream, visited] : left_) try {
      if (current_stream(device) != stream) go_on(device, stream);
      let_wait(device, visited, stream);
      // A capture ends only where each stream that joined it has been awaited.
      for (const int64_t other : visited) let_wait(device, {&stream, 1}, other);
    } catch (const Error&) {
      set_current_stream(device, stream);  // the device has failed: the program sees that where it waits
    }
  left_.clear();
}

}  // namespace pellucid
