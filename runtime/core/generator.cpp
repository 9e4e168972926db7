#include "core/generator.h"

#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>

#include "core/device_names.h"
#include "core/error.h"
#include "core/value.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {
namespace {

FORK_SAFE ForkSafeMutex default_mutex;

constexpr int kShift = 397;

uint32_t mix(uint32_t high, uint32_t low) {
  const uint32_t word = (high & 0x80000000u) | (low & 0x7FFFFFFFu);
  return word >> 1 ^ (low & 1 ? 0x9908B0DFu : 0u);
}

uint32_t temper(uint32_t word) {
  word ^= word >> 11;
  word ^= word << 7 & 0x9D2C5680u;
  word ^= word << 15 & 0xEFC60000u;
  return word ^ word >> 18;
}

// The layout of PyTorch's CPU generator state, which programs save in checkpoints.
struct StateBytes {
  uint64_t initial_seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[HostGenerator::kWords];
  double normal_x, normal_y, normal_rho;
  int32_t normal_is_valid;
  int32_t padding;
  float next_float_normal;
  bool next_float_normal_is_valid;
};
static_assert(sizeof(StateBytes) == HostGenerator::kStateBytes);

}  // namespace

void HostGenerator::manual_seed(uint64_t seed) {
  std::lock_guard lock(mutex);
  reset(seed);
}

void HostGenerator::reset(uint64_t seed) {
  initial_seed_ = seed;
  words_[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < kWords; ++i) words_[i] = 1812433253u * (words_[i - 1] ^ words_[i - 1] >> 30) + i;
  next_ = kWords;
  fresh_ = true;
  has_double_normal_ = has_float_normal_ = false;
}

uint64_t Generator::seed() {
  uint64_t fresh = 0;
  if (getrandom(&fresh, sizeof fresh, 0) != sizeof fresh)
    raise(ErrorKind::Runtime, "the system provided no random seed; call manual_seed with one of your own");
  fresh &= (uint64_t{1} << 53) - 1;  // so that it survives a round trip through a double
  manual_seed(fresh);
  return fresh;
}

uint64_t HostGenerator::initial_seed() const {
  std::lock_guard lock(mutex);
  return initial_seed_;
}

// Word i depends on words i + 1 and i + 397, the last of which are already new ones. The loop is split where the
// index wraps, so that the dependence distance of each part allows vectorisation.
void HostGenerator::refill() {
  constexpr int kOld = kWords - kShift;
  for (int i = 0; i < kOld; ++i) words_[i] = words_[i + kShift] ^ mix(words_[i], words_[i + 1]);
  for (int i = kOld; i < kWords - 1; ++i) words_[i] = words_[i - kOld] ^ mix(words_[i], words_[i + 1]);
  words_[kWords - 1] = words_[kShift - 1] ^ mix(words_[kWords - 1], words_[0]);
  next_ = 0;
  fresh_ = false;
}

uint32_t HostGenerator::random32_locked() {
  if (next_ == kWords) refill();
  return temper(words_[next_++]);
}

void HostGenerator::fill_locked(std::span<uint32_t> words) {
  while (!words.empty()) {
    if (next_ == kWords) refill();
    const size_t count = std::min(words.size(), static_cast<size_t>(kWords - next_));
    const uint32_t* from = words_ + next_;
    for (size_t i = 0; i < count; ++i) words[i] = temper(from[i]);
    next_ += static_cast<int>(count);
    words = words.subspan(count);
  }
}

double HostGenerator::normal_locked(double mean, double std) {
  if (has_double_normal_) {
    has_double_normal_ = false;
    return double_normal_ * std + mean;
  }
  const double u1 = uniform_locked(), u2 = uniform_locked();
  const double radius = std::sqrt(-2.0 * std::log1p(-u2)), angle = 2.0 * M_PI * u1;
  double_normal_ = radius * std::sin(angle);
  has_double_normal_ = true;
  return radius * std::cos(angle) * std + mean;
}

void HostGenerator::get_state(std::span<uint8_t> bytes) const {
  std::lock_guard lock(mutex);
  StateBytes state;
  std::memset(&state, 0, sizeof state);
  state.initial_seed = initial_seed_;
  state.seeded = 1;
  state.next = fresh_ ? 0 : static_cast<uint64_t>(next_);
  state.left = fresh_ ? 1 : kWords + 1 - next_;
  std::copy_n(words_, kWords, state.words);
  state.normal_is_valid = has_double_normal_;
  state.normal_y = has_double_normal_ ? double_normal_ : 0;
  state.next_float_normal_is_valid = has_float_normal_;
  state.next_float_normal = has_float_normal_ ? float_normal_ : 0;
  std::memcpy(bytes.data(), &state, sizeof state);
}

void HostGenerator::set_state(std::span<const uint8_t> bytes) {
  if (bytes.size() != kStateBytes)
    raise(ErrorKind::Runtime, "a generator state has %zu bytes; got %zu. Pass what get_state() returned", kStateBytes,
          bytes.size());
  StateBytes state;
  std::memcpy(&state, bytes.data(), sizeof state);
  const bool possible = state.seeded == 1 && state.left >= 1 && state.left <= kWords && state.next <= kWords &&
                        (state.left == 1 || state.next + static_cast<uint64_t>(state.left) == kWords + 1);
  if (!possible)
    raise(ErrorKind::Runtime, "these bytes are not a state of an mt19937 generator; pass what get_state() returned");
  std::lock_guard lock(mutex);
  initial_seed_ = state.initial_seed;
  for (int i = 0; i < kWords; ++i) words_[i] = static_cast<uint32_t>(state.words[i]);
  fresh_ = state.left == 1 && state.next == 0;
  next_ = state.left == 1 ? kWords : static_cast<int>(state.next);
  has_double_normal_ = state.normal_is_valid;
  double_normal_ = state.normal_y;
  uint8_t float_is_valid;  // a byte from outside may not be a valid bool
  std::memcpy(&float_is_valid, bytes.data() + offsetof(StateBytes, next_float_normal_is_valid), 1);
  has_float_normal_ = float_is_valid != 0;
  float_normal_ = state.next_float_normal;
}

Ref<Generator> HostGenerator::clone() const {
  uint8_t state[kStateBytes];
  get_state(state);
  Ref<Generator> copy = Ref<Generator>::adopt(new HostGenerator);
  copy->set_state(state);
  return copy;
}

void destroy(Generator* generator) { delete generator; }

HostGenerator& default_generator() {
  static constinit std::atomic<HostGenerator*> made{nullptr};
  if (HostGenerator* known = made.load(std::memory_order_acquire)) [[likely]]
    return *known;
  auto fresh = std::make_unique<HostGenerator>(Generator::kDefaultSeed, default_mutex);
  HostGenerator* first = nullptr;  // another thread may be faster
  return *(made.compare_exchange_strong(first, fresh.get()) ? fresh.release() : first);
}

Generator& generator_for(const Value& argument, Device device) {
  Generator& standard = default_generator(device);
  if (argument.is_none() || !argument.object) return standard;
  Generator& given = *static_cast<Generator*>(argument.object);
  if (given.device.type != standard.device.type && device.type != DeviceType::Meta)
    raise(ErrorKind::Runtime,
          "expected a generator of the type '%s', from which %s draws, but got one of '%s'; make it by "
          "torch.Generator(device='%s')",
          device_type_name(standard.device.type).c_str(), device_type_name(device.type).c_str(),
          device_type_name(given.device.type).c_str(), device_type_name(standard.device.type).c_str());
  return given;
}

HostGenerator& as_host(Generator& generator) {
  if (generator.device.type != DeviceType::CPU)
    raise(ErrorKind::Runtime, "expected a generator of the CPU, but got one of %s",
          device_name(generator.device).c_str());
  return static_cast<HostGenerator&>(generator);
}

}  // namespace pellucid
