// BoundedCache: a bounded map from keys (a hash and words) to entries. When it is full, adding an entry evicts
// the least recently used half.
//
// Payloads are shared: a call keeps the one it found alive, whatever other threads add meanwhile. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace pellucid {

// One of a few mutexes that a fork takes, which caches share. Nothing else is locked under it.
std::mutex& stripe_of(const void* cache);

template <class Key, class Payload>
class BoundedCache {
 public:
  // `most` may change; the next addition applies the new limit.
  explicit BoundedCache(const std::atomic<size_t>& most) : most_(most) {}

  // Null if there is no entry.
  std::shared_ptr<Payload> find(const Key& key) {
    std::lock_guard lock(mutex_);
    Entry* entry = look_up(key);
    return entry ? entry->payload : nullptr;
  }

  // The payload of `key`, default-constructed if absent.
  std::shared_ptr<Payload> add(const Key& key) {
    std::vector<std::shared_ptr<Payload>> dropped;  // destroyed after the lock is released
    std::lock_guard lock(mutex_);
    if (Entry* entry = look_up(key)) return entry->payload;
    if (entries_.size() >= most_.load(std::memory_order_relaxed)) dropped = forget_half();
    const auto words = key.words();
    const auto made =
        entries_.emplace(key.hash(), Entry{{words.begin(), words.end()}, std::make_shared<Payload>(), ++clock_});
    return made->second.payload;
  }

  size_t size() const {
    std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    std::vector<uint64_t> words;
    std::shared_ptr<Payload> payload;
    uint64_t used;
  };

  Entry* look_up(const Key& key) {
    const auto [begin, end] = entries_.equal_range(key.hash());
    for (auto at = begin; at != end; ++at) {
      if (!std::ranges::equal(at->second.words, key.words())) continue;
      at->second.used = ++clock_;
      return &at->second;
    }
    return nullptr;
  }

  std::vector<std::shared_ptr<Payload>> forget_half() {
    std::vector<uint64_t> uses;
    for (const auto& [hash, entry] : entries_) uses.push_back(entry.used);
    const auto middle = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 2);
    std::ranges::nth_element(uses, middle);
    std::vector<std::shared_ptr<Payload>> dropped;
    std::erase_if(entries_, [&](const auto& item) {
      const Entry& entry = item.second;
      if (entry.used > *middle) return false;
      dropped.push_back(entry.payload);
      return true;
    });
    return dropped;
  }

  const std::atomic<size_t>& most_;
  std::mutex& mutex_ = stripe_of(this);
  std::unordered_multimap<uint64_t, Entry> entries_;
  uint64_t clock_ = 0;
};

}  // namespace pellucid
