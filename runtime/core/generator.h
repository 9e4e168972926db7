// Random generator: mt19937 with PyTorch's CPU stream, seeds and state bytes.
//
// `manual_seed(s)` reproduces PyTorch's words. Words are drawn serially under the generator's lock; turning them
// into samples (uniform, normal, ...) may then run in parallel.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "core/ref.h"

namespace pellucid {

struct Generator : RefCounted {
  static constexpr uint64_t kDefaultSeed = 67280421310721;
  static constexpr int kWords = 624;
  static constexpr size_t kStateBytes = 5056;  // PyTorch's layout

  explicit Generator(uint64_t seed = kDefaultSeed) : Generator(seed, own_mutex_) {}
  Generator(uint64_t seed, std::mutex& mutex) : mutex(mutex) { manual_seed(seed); }

  // All of these lock, except the `_locked` ones, which require the caller to hold `mutex`.
  void manual_seed(uint64_t seed);
  uint64_t seed();  // a new seed from the system's entropy
  uint64_t initial_seed() const;
  void get_state(std::span<uint8_t, kStateBytes> bytes) const;
  void set_state(std::span<const uint8_t> bytes);  // raises on a wrong size or an impossible state

  uint32_t random32_locked();
  uint64_t random64_locked() {
    const uint64_t high = random32_locked();
    return high << 32 | random32_locked();
  }
  void fill_locked(std::span<uint32_t> words);  // as many calls of random32, vectorised
  double uniform_locked() { return static_cast<double>(random64_locked() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
  double normal_locked(double mean, double std);  // draws a pair of uniforms; the second result is cached

  std::mutex& mutex;

 private:
  void refill();

  std::mutex own_mutex_;
  uint64_t initial_seed_ = 0;
  int next_ = kWords;  // index of the next word; kWords: refill first
  bool fresh_ = true;  // seeded and not yet refilled, as recorded in PyTorch's state
  bool has_double_normal_ = false, has_float_normal_ = false;
  double double_normal_ = 0;
  float float_normal_ = 0;
  uint32_t words_[kWords];
};

void destroy(Generator* generator);
Generator& default_generator();  // CPU; lives forever

}  // namespace pellucid
