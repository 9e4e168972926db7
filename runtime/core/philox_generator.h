// Philox4x32-10 generators, from which devices draw whose Backend has them.
//
// A word of the stream is a function of seed, offset and subsequence: the seed is the key, and the counter is a
// quarter of the offset in its lower half and the subsequence in its upper half. A draw takes as many subsequences as
// it needs, from 0 on, and the same number of words from each; the next one continues behind these, at a greater
// offset. So words depend on neither grids nor the order of threads, and a state is two numbers.
// catalogue/random.py has the kernel that computes words; the host's function here serves draws by rejection.
#pragma once

#include <array>
#include <cmath>
#include <mutex>

#include "core/generator.h"

namespace pellucid {

using PhiloxBlock = std::array<uint32_t, 4>;
// J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel random numbers: as easy as 1, 2, 3, 2011.
PhiloxBlock philox(uint64_t key, uint64_t counter_low, uint64_t counter_high);

// While the current stream of its device is being captured, a generator's position and its state are those of the
// capture (captured_draws.h), and it cannot be seeded.
class PhiloxGenerator final : public Generator {
 public:
  static constexpr size_t kStateBytes = 16;  // PyTorch's: seed and offset
  static constexpr uint64_t kBlock = 4;      // offsets are multiples of it
  struct Position {
    uint64_t seed, offset;
  };
  static constexpr uint64_t kMostWords = uint64_t{1} << 63;  // of a subsequence
  // May be shared by several generators, as graphs and `graphsafe_set_state` do.
  struct State : RefCounted {
    std::mutex mutex;
    Position position;
  };

  explicit PhiloxGenerator(Device device, uint64_t seed = kDefaultSeed);

  void manual_seed(uint64_t seed) override;
  uint64_t initial_seed() const override { return position().seed; }
  size_t state_bytes() const override { return kStateBytes; }
  void get_state(std::span<uint8_t> bytes) const override;
  void set_state(std::span<const uint8_t> bytes) override;
  Ref<Generator> clone() const override;

  Position position() const;
  void set_offset(uint64_t offset);  // raises unless it is a multiple of kBlock below kMostWords
  Ref<State> shared_state() const;
  void share_state(const PhiloxGenerator& other);
  // Where a draw begins that takes `words` of each subsequence; a multiple of kBlock.
  Position take(uint64_t words) { return take_from(*shared_state(), words); }
  static Position take_from(State& state, uint64_t words);

 private:
  mutable std::mutex mutex_;  // of the reference
  Ref<State> state_;
};

void destroy(PhiloxGenerator::State* state);

// The words of one subsequence, in order, and numbers made of them.
class PhiloxSequence {
 public:
  PhiloxSequence(PhiloxGenerator::Position start, uint64_t subsequence)
      : key_(start.seed), counter_(start.offset / PhiloxGenerator::kBlock), subsequence_(subsequence) {}

  uint32_t random32() {
    if (next_ == PhiloxGenerator::kBlock) {
      block_ = philox(key_, counter_++, subsequence_);
      next_ = 0;
    }
    return block_[next_++];
  }
  double uniform() {
    const uint64_t high = random32(), word = high << 32 | random32();
    return static_cast<double>(word & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
  }
  double normal() {
    const double u = uniform(), v = uniform();
    return std::sqrt(-2 * std::log1p(-u)) * std::cos(2 * M_PI * v);
  }

 private:
  const uint64_t key_;
  uint64_t counter_;
  const uint64_t subsequence_;
  PhiloxBlock block_{};
  size_t next_ = PhiloxGenerator::kBlock;
};

}  // namespace pellucid
