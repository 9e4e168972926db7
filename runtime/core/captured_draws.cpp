#include "core/captured_draws.h"

#include <map>
#include <tuple>
#include <utility>

#include "core/backend.h"
#include "core/call_op.h"
#include "core/device_pool.h"
#include "core/geometry.h"
#include "core/named_ops.h"
#include "core/thread_state.h"

namespace pellucid {
namespace {

std::mutex mutex;  // of the tables below

using Draws = std::vector<CapturedDraws>;
using Place = std::tuple<DeviceType, int8_t, uint64_t>;  // a device, and the stream of a capture or a graph

std::map<Place, Draws>& captures() {
  static auto* const made = new std::map<Place, Draws>;  // outlives tensors of backends
  return *made;
}
std::map<Place, std::shared_ptr<ReplayedDraws::Graph>>& graphs() {
  static auto* const made = new std::map<Place, std::shared_ptr<ReplayedDraws::Graph>>;
  return *made;
}

Place place_of(Device device, uint64_t number) { return {device.type, device.index, number}; }

std::optional<int64_t> capture_of(Device device) {
  return backend_of(device).pool->capture_of(device, current_stream(device));
}

CapturedDraws* find(Draws& draws, const Ref<PhiloxGenerator::State>& state) {
  for (CapturedDraws& known : draws)
    if (known.state.get() == state.get()) return &known;
  return nullptr;
}

// Calls `use` with what the capture draws from the state; false: there is no capture.
template <class Use>
bool with_captured(const Ref<PhiloxGenerator::State>& state, Device device, Use&& use) {
  const std::optional<int64_t> stream = capture_of(device);
  if (!stream) return false;
  const Place place = place_of(device, static_cast<uint64_t>(*stream));
  const auto use_known = [&] {
    const std::lock_guard lock(mutex);
    CapturedDraws* const known = find(captures()[place], state);
    if (known) use(*known);
    return known != nullptr;
  };
  if (use_known()) return true;
  const auto empty_number = [&] { return empty(Sizes{}, DType::Int64, device); };
  CapturedDraws fresh{state, empty_number(), empty_number()};  // before the lock: the pool has its own
  {
    const std::lock_guard lock(mutex);
    Draws& draws = captures()[place];
    if (!find(draws, state)) draws.push_back(std::move(fresh));
  }
  return use_known();
}

template <class Drawn>
Drawn taken(std::map<Place, Drawn>& table, const Place& place) {
  const std::lock_guard lock(mutex);
  auto node = table.extract(place);
  return node.empty() ? Drawn{} : std::move(node.mapped());
}

void write_number(TensorImpl& tensor, uint64_t word) {
  call_op(NamedOp::FillScalar, {Value::of(&tensor), Value::of_int(static_cast<int64_t>(word))});
}

}  // namespace

bool is_capturing(Device device) { return capture_of(device).has_value(); }

std::optional<CapturedDraws> take_captured(const Ref<PhiloxGenerator::State>& state, Device device, uint64_t words) {
  std::optional<CapturedDraws> found;
  with_captured(state, device, [&](CapturedDraws& draws) {
    found = draws;
    draws.words += words;
  });
  return found;
}

bool set_captured(const Ref<PhiloxGenerator::State>& state, Device device, uint64_t words) {
  return with_captured(state, device, [&](CapturedDraws& draws) { draws.words = words; });
}

void end_captured_draws(Device device, int64_t stream, uint64_t graph) {
  Draws draws = taken(captures(), place_of(device, static_cast<uint64_t>(stream)));
  if (!graph || draws.empty()) return;
  auto made = std::make_shared<ReplayedDraws::Graph>();
  made->draws = std::move(draws);
  const std::lock_guard lock(mutex);
  graphs()[place_of(device, graph)] = std::move(made);
}

void drop_captured_draws(Device device, uint64_t graph) { taken(graphs(), place_of(device, graph)); }

ReplayedDraws::ReplayedDraws(Device device, uint64_t graph, int64_t stream) {
  {
    const std::lock_guard lock(mutex);
    const auto found = graphs().find(place_of(device, graph));
    if (found == graphs().end()) return;
    graph_ = found->second;
  }
  lock_ = std::unique_lock(graph_->replaying);
  const StreamScope scope(device, stream);
  const ExcludeKeys unseen(kSeen);
  for (const CapturedDraws& draws : graph_->draws) {
    const auto [seed, offset] = PhiloxGenerator::take_from(*draws.state, draws.words);
    write_number(*draws.key, seed);
    write_number(*draws.offset, offset);
  }
}

}  // namespace pellucid
