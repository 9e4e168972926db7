#include "core/philox_generator.h"

#include <cstring>

#include "core/captured_draws.h"
#include "core/error.h"

namespace pellucid {
namespace {

constexpr uint64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
constexpr uint32_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};
constexpr int kRounds = 10;

uint32_t high_half(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint32_t low_half(uint64_t word) { return static_cast<uint32_t>(word); }

// Set in the offset of a state that a capture's draws reached, which counts from where a replay begins.
constexpr uint64_t kOfCapture = PhiloxGenerator::kMostWords;

void require_offset(uint64_t offset) {
  if (offset % PhiloxGenerator::kBlock || offset >= PhiloxGenerator::kMostWords)
    raise(ErrorKind::Runtime, "the offset of a generator is a multiple of %llu below 2**63, not %llu",
          static_cast<unsigned long long>(PhiloxGenerator::kBlock), static_cast<unsigned long long>(offset));
}

void require_no_capture(Device device, const char* function) {
  if (is_capturing(device))
    raise(ErrorKind::Runtime,
          "%s() has no effect on replays of the graph that is being captured, which draw from where the generator is "
          "when they begin; call it before the capture or between replays",
          function);
}

}  // namespace

PhiloxBlock philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  PhiloxBlock words{low_half(counter_low), high_half(counter_low), low_half(counter_high), high_half(counter_high)};
  uint32_t keys[] = {low_half(key), high_half(key)};
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t first = kMultipliers[0] * words[0], third = kMultipliers[1] * words[2];
    words = {high_half(third) ^ words[1] ^ keys[0], low_half(third), high_half(first) ^ words[3] ^ keys[1],
             low_half(first)};
    for (int k = 0; k < 2; ++k) keys[k] += kKeySteps[k];
  }
  return words;
}

PhiloxGenerator::PhiloxGenerator(Device device, uint64_t seed)
    : Generator(device), state_(Ref<State>::adopt(new State)) {
  state_->position = {seed, 0};
}

Ref<PhiloxGenerator::State> PhiloxGenerator::shared_state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void PhiloxGenerator::share_state(const PhiloxGenerator& other) {
  Ref<State> given = other.shared_state();
  const std::lock_guard lock(mutex_);
  state_ = std::move(given);
}

PhiloxGenerator::Position PhiloxGenerator::position() const {
  const Ref<State> state = shared_state();
  const auto captured = take_captured(state, device, 0);
  const std::lock_guard lock(state->mutex);
  return {state->position.seed, captured ? captured->words : state->position.offset};
}

void PhiloxGenerator::manual_seed(uint64_t seed) {
  require_no_capture(device, "manual_seed");
  const Ref<State> state = shared_state();
  const std::lock_guard lock(state->mutex);
  state->position = {seed, 0};
}

void PhiloxGenerator::set_offset(uint64_t offset) {
  require_offset(offset);
  const Ref<State> state = shared_state();
  if (set_captured(state, device, offset)) return;
  const std::lock_guard lock(state->mutex);
  state->position.offset = offset;
}

PhiloxGenerator::Position PhiloxGenerator::take_from(State& state, uint64_t words) {
  const std::lock_guard lock(state.mutex);
  const Position start = state.position;
  if (words >= kMostWords - start.offset)
    raise(ErrorKind::Runtime, "a generator at the offset %llu has no %llu words left; seed it again",
          static_cast<unsigned long long>(start.offset), static_cast<unsigned long long>(words));
  state.position.offset += words;
  return start;
}

void PhiloxGenerator::get_state(std::span<uint8_t> bytes) const {
  Position now = position();
  if (is_capturing(device)) now.offset |= kOfCapture;
  std::memcpy(bytes.data(), &now, kStateBytes);
}

void PhiloxGenerator::set_state(std::span<const uint8_t> bytes) {
  if (bytes.size() != kStateBytes)
    raise(ErrorKind::Runtime,
          "the state of a device's generator has %zu bytes, its seed and its offset; got %zu. Pass what get_state() "
          "returned",
          kStateBytes, bytes.size());
  Position given;
  std::memcpy(&given, bytes.data(), kStateBytes);
  const bool is_captured = is_capturing(device), is_of_capture = given.offset & kOfCapture;
  if (is_captured != is_of_capture)
    raise(ErrorKind::Runtime,
          is_captured
              ? "set_state() in a capture of a graph needs a state that get_state() returned in a capture; this "
                "one is from outside, where replays do not begin. Set it before the capture"
              : "set_state(): this state is from a capture of a graph, and only sets draws in a capture");
  given.offset &= ~kOfCapture;
  require_offset(given.offset);
  const Ref<State> state = shared_state();
  if (set_captured(state, device, given.offset)) return;
  const std::lock_guard lock(state->mutex);
  state->position = given;
}

Ref<Generator> PhiloxGenerator::clone() const {
  require_no_capture(device, "clone_state");
  const Position now = position();
  auto* const copy = new PhiloxGenerator(device, now.seed);
  copy->set_offset(now.offset);
  return Ref<Generator>::adopt(copy);
}

void destroy(PhiloxGenerator::State* state) { delete state; }

}  // namespace pellucid
