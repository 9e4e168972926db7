#include "kernels/random_words.h"

#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "core/backend.h"
#include "core/call_op.h"
#include "core/device_pool.h"
#include "core/layout.h"
#include "core/named_ops.h"
#include "kernels/host_shadow.h"

namespace pellucid {
namespace {

std::mutex mutex;  // of the tables below

// Where a stream begins: the kernel adds what memory holds and what the launch says.
struct Start {
  Tensor key, offset;
  PhiloxGenerator::Position added;
};

// What a graph draws from one generator.
struct CapturedDraws {
  Ref<PhiloxGenerator::State> state;
  Tensor key, offset;  // written by replays
  uint64_t words = 0;  // of each subsequence
};
using Draws = std::vector<CapturedDraws>;
using Place = std::tuple<DeviceType, int8_t, uint64_t>;  // a device, and the stream of a capture or a graph

std::map<Place, Draws>& captures() {
  static auto* const made = new std::map<Place, Draws>;  // outlives tensors of backends
  return *made;
}
std::map<Place, Draws>& graphs() {
  static auto* const made = new std::map<Place, Draws>;
  return *made;
}
Place place_of(Device device, uint64_t number) { return {device.type, device.index, number}; }

Tensor empty_number(Device device) { return empty(Sizes{}, DType::Int64, device); }

// Memory of zeros for draws outside of graphs: one per device, which nothing writes again.
Tensor zero_on(Device device) {
  static auto* const known = new std::map<Place, Tensor>;
  const Place place = place_of(device, 0);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known->find(place); found != known->end()) return found->second;
  }
  const Tensor zero = empty_number(device);
  clear_storage(*zero->storage);
  const std::lock_guard lock(mutex);
  return known->emplace(place, zero).first->second;
}

Start captured_start(PhiloxGenerator& generator, Device device, int64_t stream) {
  const Ref<PhiloxGenerator::State> state = generator.shared_state();
  const Place place = place_of(device, static_cast<uint64_t>(stream));
  const auto take = [&]() -> std::optional<Start> {
    const std::lock_guard lock(mutex);
    for (CapturedDraws& draws : captures()[place])
      if (draws.state.get() == state.get())
        return Start{draws.key, draws.offset, {0, std::exchange(draws.words, draws.words + PhiloxGenerator::kBlock)}};
    return std::nullopt;
  };
  if (std::optional<Start> known = take()) return *std::move(known);
  CapturedDraws fresh{state, empty_number(device), empty_number(device)};
  {
    const std::lock_guard lock(mutex);
    captures()[place].push_back(std::move(fresh));
  }
  return *take();
}

Start start_of(PhiloxGenerator& generator, Device device) {
  const std::optional<int64_t> capture = backend_of(device).pool->capture_of(device, current_stream(device));
  if (capture) return captured_start(generator, device, *capture);
  const Tensor zero = zero_on(device);
  return {zero, zero, generator.take(PhiloxGenerator::kBlock)};
}

Value number(uint64_t word) { return Value::of_int(static_cast<int64_t>(word)); }

void write_number(TensorImpl& tensor, uint64_t word) {
  call_op(NamedOp::FillScalar, {Value::of(&tensor), number(word)});
}

Draws taken(std::map<Place, Draws>& table, const Place& place) {
  const std::lock_guard lock(mutex);
  auto node = table.extract(place);
  return node.empty() ? Draws{} : std::move(node.mapped());
}

}  // namespace

Tensor draw_words(Generator& generator, Device device, int64_t count) {
  if (generator.device.type == DeviceType::CPU) {
    HostGenerator& host = as_host(generator);
    Tensor words = empty(std::array{count}, DType::Int32);
    const std::lock_guard lock(host.mutex);
    host.fill_locked({words->host_as<uint32_t>(), static_cast<size_t>(count)});
    return words;
  }
  constexpr auto kBlock = static_cast<int64_t>(PhiloxGenerator::kBlock);
  const Start start = start_of(static_cast<PhiloxGenerator&>(generator), device);
  return call_op(NamedOp::PhiloxWords,
                 {Value::of(start.key.get()), Value::of(start.offset.get()), number(start.added.seed),
                  number(start.added.offset), Value::of_int((count + kBlock - 1) / kBlock)});
}

RandomWords::RandomWords(const ElementFunction& function, const TensorImpl& result, const OpCall& call) {
  if (!function.num_draws) return;
  dense_strides_like(result.shape(), result.stride(), strides_);
  for (int axis = 0; axis < result.ndim; ++axis) strides_[axis] *= function.num_draws * int64_t{sizeof(uint32_t)};
  Value given;
  for (int i = 0; i < call.num_args; ++i)
    if (call.args[i].tag == Tag::Generator) given = call.args[i];
  words_ = draw_words(generator_for(given, result.device), result.device, result.numel * function.num_draws);
}

RandomWords RandomWords::copied_to(Device device) const {
  RandomWords copy = *this;
  if (words_.get() && words_->device != device) copy.words_ = copy_to_device(*words_, device);
  return copy;
}

static int64_t place_of(const ElementFunction::Input& input) {
  return (input.argument - kFirstDraw) * int64_t{sizeof(uint32_t)};
}

MapOperand RandomWords::operand(const ElementFunction::Input& input) const {
  return {words_->host() + place_of(input), DType::Int32, input.dtype, strides_};
}

LaunchOperand RandomWords::launch_operand(const ElementFunction::Input& input, Sizes shape) const {
  return {words_->address() + static_cast<uint64_t>(place_of(input)), DType::Int32, shape, {strides_, shape.size()}};
}

void end_captured_draws(Device device, int64_t stream, uint64_t graph) {
  Draws draws = taken(captures(), place_of(device, static_cast<uint64_t>(stream)));
  if (!graph || draws.empty()) return;
  const std::lock_guard lock(mutex);
  graphs()[place_of(device, graph)] = std::move(draws);
}

void begin_replayed_draws(Device device, uint64_t graph, int64_t stream) {
  Draws draws;
  {
    const std::lock_guard lock(mutex);
    const auto found = graphs().find(place_of(device, graph));
    if (found == graphs().end()) return;
    draws = found->second;
  }
  const StreamScope scope(device, stream);
  for (CapturedDraws& of_one : draws) {
    const auto [seed, offset] = PhiloxGenerator::take_from(*of_one.state, of_one.words);
    write_number(*of_one.key, seed);
    write_number(*of_one.offset, offset);
  }
}

void drop_captured_draws(Device device, uint64_t graph) { taken(graphs(), place_of(device, graph)); }

}  // namespace pellucid
