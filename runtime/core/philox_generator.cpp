#include "core/philox_generator.h"

#include <cstring>

#include "core/error.h"

namespace pellucid {
namespace {

constexpr uint64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
constexpr uint32_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};
constexpr int kRounds = 10;

uint32_t high_half(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint32_t low_half(uint64_t word) { return static_cast<uint32_t>(word); }

void require_offset(uint64_t offset) {
  if (offset % PhiloxGenerator::kBlock)
    raise(ErrorKind::Runtime, "the offset of a generator is a multiple of %llu, not %llu",
          static_cast<unsigned long long>(PhiloxGenerator::kBlock), static_cast<unsigned long long>(offset));
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
  const std::lock_guard lock(state->mutex);
  return state->position;
}

void PhiloxGenerator::manual_seed(uint64_t seed) {
  const Ref<State> state = shared_state();
  const std::lock_guard lock(state->mutex);
  state->position = {seed, 0};
}

void PhiloxGenerator::set_offset(uint64_t offset) {
  require_offset(offset);
  const Ref<State> state = shared_state();
  const std::lock_guard lock(state->mutex);
  state->position.offset = offset;
}

PhiloxGenerator::Position PhiloxGenerator::take_from(State& state, uint64_t words) {
  const std::lock_guard lock(state.mutex);
  const Position start = state.position;
  state.position.offset += words;
  return start;
}

void PhiloxGenerator::get_state(std::span<uint8_t> bytes) const {
  const Position now = position();
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
  require_offset(given.offset);
  const Ref<State> state = shared_state();
  const std::lock_guard lock(state->mutex);
  state->position = given;
}

Ref<Generator> PhiloxGenerator::clone() const {
  const Position now = position();
  auto* const copy = new PhiloxGenerator(device, now.seed);
  copy->set_offset(now.offset);
  return Ref<Generator>::adopt(copy);
}

void destroy(PhiloxGenerator::State* state) { delete state; }

}  // namespace pellucid
