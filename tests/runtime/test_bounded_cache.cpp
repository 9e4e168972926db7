#include <array>
#include <atomic>
#include <span>
#include <thread>

#include "../sanitizers/check.h"
#include "core/bounded_cache.h"

using namespace pellucid;

namespace {

struct WordKey {
  std::array<uint64_t, 2> numbers;
  uint64_t hash() const { return numbers[0] & 0xFFFF; }  // keys meet in one place
  std::span<const uint64_t> words() const { return numbers; }
};

struct Counted {
  static inline std::atomic<int> alive{0};
  int number = 0;
  Counted() { ++alive; }
  ~Counted() { --alive; }
};

constinit std::atomic<size_t> kMost = 256;
using Cache = BoundedCache<WordKey, Counted>;

}  // namespace

TEST(a_hundred_thousand_keys_take_bounded_memory) {
  {
    Cache cache(kMost);
    for (uint64_t k = 0; k < 100'000; ++k) {
      cache.add({{k, k + 1}})->number = static_cast<int>(k);
      CHECK(cache.size() <= kMost && Counted::alive <= static_cast<int>(kMost));
    }
    CHECK(cache.find({{99'999, 100'000}})->number == 99'999);
    CHECK(!cache.find({{0, 1}}));
  }
  CHECK(Counted::alive == 0);
}

TEST(what_is_used_stays) {
  Cache cache(kMost);
  const WordKey hot{{7, 7}};
  cache.add(hot)->number = 7;
  for (uint64_t k = 0; k < 10'000; ++k) {
    cache.add({{k, 1}});
    CHECK(cache.find(hot)->number == 7);
  }
}

TEST(keys_of_one_hash_are_told_apart) {
  Cache cache(kMost);
  cache.add({{5, 1}})->number = 1;
  cache.add({{5, 2}})->number = 2;
  CHECK(cache.find({{5, 1}})->number == 1 && cache.find({{5, 2}})->number == 2);
  CHECK(cache.add({{5, 1}})->number == 1 && cache.size() == 2);
}

TEST(a_call_holds_what_others_drop) {
  Cache cache(kMost);
  const std::shared_ptr<Counted> held = cache.add({{1, 0}});
  held->number = 1;
  const auto fill = [&](uint64_t first) {
    for (uint64_t k = 0; k < 5'000; ++k) cache.add({{k, first}});
  };
  std::thread other(fill, 3);
  fill(2);
  other.join();
  CHECK(held->number == 1 && !cache.find({{1, 0}}) && cache.size() <= kMost);
}
