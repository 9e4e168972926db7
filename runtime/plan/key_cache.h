// KeyCache: entries by specialisation key. Lookups take no lock. Entries are added under a lock and live forever,
// because a call may hold a pointer into the cache while another thread adds an entry.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "plan/key.h"

namespace pellucid {

template <class Payload>
class KeyCache {
 public:
  struct Entry {
    uint64_t hash;
    std::vector<uint64_t> words;
    Payload payload;
    std::unique_ptr<Entry> next;

    bool matches(const KeyBuilder& key) const { return hash == key.hash() && std::ranges::equal(words, key.words()); }
  };

  Payload* find(const KeyBuilder& key) {
    Entry* last = last_.load(std::memory_order_acquire);
    if (last && last->matches(key)) return &last->payload;
    for (Entry* entry = bucket(key).load(std::memory_order_acquire); entry; entry = entry->next.get())
      if (entry->matches(key)) {
        last_.store(entry, std::memory_order_release);
        return &entry->payload;
      }
    return nullptr;
  }

  // The entry of `key`, with a default-constructed payload if it was absent. The caller holds the owner's lock.
  Payload& add(const KeyBuilder& key) {
    if (Payload* found = find(key)) return *found;
    auto entry = std::make_unique<Entry>();
    entry->hash = key.hash();
    entry->words.assign(key.words().begin(), key.words().end());
    std::atomic<Entry*>& head = bucket(key);
    entry->next.reset(head.load(std::memory_order_relaxed));
    head.store(entry.get(), std::memory_order_release);
    return entry.release()->payload;
  }

  // Moves all entries of a cache, which has none of this one's keys, so that readers find them. The caller holds the
  // owner's lock.
  void take(KeyCache& other) noexcept {
    other.last_.store(nullptr, std::memory_order_relaxed);
    for (size_t k = 0; k < kBuckets; ++k) {
      std::unique_ptr<Entry> entry(other.buckets_[k].exchange(nullptr, std::memory_order_relaxed));
      while (entry) {
        std::unique_ptr<Entry> rest = std::move(entry->next);
        entry->next.reset(buckets_[k].load(std::memory_order_relaxed));
        buckets_[k].store(entry.release(), std::memory_order_release);
        entry = std::move(rest);
      }
    }
  }

  ~KeyCache() {
    for (auto& head : buckets_) {
      std::unique_ptr<Entry> entry(head.load());
      while (entry) entry = std::move(entry->next);
    }
  }

 private:
  static constexpr size_t kBuckets = 16;
  std::atomic<Entry*>& bucket(const KeyBuilder& key) { return buckets_[key.hash() % kBuckets]; }

  std::atomic<Entry*> last_{nullptr};
  std::atomic<Entry*> buckets_[kBuckets] = {};
};

}  // namespace pellucid
