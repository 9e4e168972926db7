// Random generators: the CPU's mt19937 with PyTorch's stream, and the interface that those of devices share.
//
// A device draws from its own Philox generators (philox_generator.h) if its Backend has them, else from the CPU's
// generator. `default_generator` and `generator_for` are the only places where that is decided.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>

#include "core/ref.h"
#include "core/storage.h"

namespace pellucid {

struct Value;

// All functions lock, except those whose name says that the caller does.
class Generator : public RefCounted {
 public:
  static constexpr uint64_t kDefaultSeed = 67280421310721;

  virtual ~Generator() = default;
  virtual void manual_seed(uint64_t seed) = 0;
  virtual uint64_t initial_seed() const = 0;
  virtual size_t state_bytes() const = 0;
  virtual void get_state(std::span<uint8_t> bytes) const = 0;  // of `state_bytes`
  virtual void set_state(std::span<const uint8_t> bytes) = 0;  // raises on a wrong size or an impossible state
  virtual Ref<Generator> clone() const = 0;                    // with the same state
  uint64_t seed();                                             // a new seed from the system's entropy

  const Device device;

 protected:
  explicit Generator(Device device) : device(device) {}
};

// mt19937. `manual_seed(s)` reproduces PyTorch's words. Words are drawn serially under the generator's lock; turning
// them into samples (uniform, normal, ...) may then run in parallel.
class HostGenerator final : public Generator {
 public:
  static constexpr int kWords = 624;
  static constexpr size_t kStateBytes = 5056;  // PyTorch's layout

  explicit HostGenerator(uint64_t seed = kDefaultSeed) : HostGenerator(seed, own_mutex_) {}
  HostGenerator(uint64_t seed, std::mutex& mutex) : Generator(Device{}), mutex(mutex) { reset(seed); }

  void manual_seed(uint64_t seed) override;
  uint64_t initial_seed() const override;
  size_t state_bytes() const override { return kStateBytes; }
  void get_state(std::span<uint8_t> bytes) const override;
  void set_state(std::span<const uint8_t> bytes) override;
  Ref<Generator> clone() const override;

  // These require the caller to hold `mutex`.
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
  void reset(uint64_t seed);
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
HostGenerator& default_generator();           // of the CPU; lives forever
Generator& default_generator(Device device);  // whose stream the device draws from; lives forever
// The generator of a call on the device: its argument, else the default one. Raises if the argument has a stream
// that the device does not draw from.
Generator& generator_for(const Value& argument, Device device);
// Raises for a generator of a device.
HostGenerator& as_host(Generator& generator);

// Seeds the generators of all devices, and those of backends that are added later.
void seed_device_generators(uint64_t seed);

}  // namespace pellucid
