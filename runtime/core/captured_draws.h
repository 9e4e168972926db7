// What captures of devices' graphs draw from Philox generators, and replays of these graphs.
//
// A draw by a kernel that is captured reads where its stream begins from memory of the graph's own. A replay writes
// that memory first, and takes from the generators what the whole graph draws. In a capture, the position of a
// generator is therefore how far the graph has drawn, and counts from where a replay will begin.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/philox_generator.h"
#include "core/tensor.h"

namespace pellucid {

// What a graph draws from one generator.
struct CapturedDraws {
  Ref<PhiloxGenerator::State> state;
  Tensor key, offset;  // int64 of no dims, which replays write
  uint64_t words = 0;  // of each subsequence
};

// The draws so far of the capture of this thread's stream of the device, of which `words` more are taken; nullopt
// without a capture.
std::optional<CapturedDraws> take_captured(const Ref<PhiloxGenerator::State>& state, Device device, uint64_t words);
// Continues there; false without a capture.
bool set_captured(const Ref<PhiloxGenerator::State>& state, Device device, uint64_t words);
bool is_capturing(Device device);

void end_captured_draws(Device device, int64_t stream, uint64_t graph);  // graph 0: what was drawn is forgotten
void drop_captured_draws(Device device, uint64_t graph);

// What a replay does before the graph is launched; until it is destroyed, other replays of the graph wait.
class ReplayedDraws {
 public:
  ReplayedDraws(Device device, uint64_t graph, int64_t stream);

  struct Graph {
    std::vector<CapturedDraws> draws;
    std::mutex replaying;
  };

 private:
  std::shared_ptr<Graph> graph_;  // null: the graph draws nothing
  std::unique_lock<std::mutex> lock_;
};

}  // namespace pellucid
