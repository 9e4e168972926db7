#include "autograd/node_streams.h"

#include <algorithm>

#include "autograd/hooks.h"
#include "core/backend.h"
#include "core/error.h"

namespace pellucid {
namespace {

void go_on(Device device, int64_t stream) {
  Backend& backend = backend_of(device);
  const uint64_t event = backend.record(device, current_stream(device));
  backend.wait(device, stream, event);
  backend.drop_event(device, event);
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
  if (std::ranges::find(left_, device, &Left::device) == left_.end()) left_.push_back({device, current});
  go_on(device, wanted);
}

void NodeStreams::leave() {
  for (const auto& [device, stream] : left_) try {
      if (current_stream(device) != stream) go_on(device, stream);
    } catch (const Error&) {
      set_current_stream(device, stream);  // the device has failed: the program sees that where it waits
    }
  left_.clear();
}

}  // namespace pellucid
