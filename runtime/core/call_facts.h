// What a call is beside the contents and places of its tensors, and caches by it.
//
// A small call that comes again with the same facts needs no promotion, placement or key: what was
// prepared for it runs. Used by exec/prepared.h (plans) and kernels/prepared_map.h (pointwise ops).
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "core/op_record.h"

namespace pellucid {

// Everything of a call but the contents and places of its tensors, as words; and its tensors.
class CallFacts {
 public:
  explicit CallFacts(const OpCall& call);

  bool complete() const { return complete_; }   // false: too many words, or arguments that have no words
  uint64_t hash() const { return hash_ ^ hash_ >> 29; }
  std::span<const uint64_t> words() const { return {words_, count_}; }
  std::span<TensorImpl* const> tensors() const { return {tensors_, num_tensors_}; }   // a Graph's inputs

 private:
  static constexpr size_t kMaxWords = 96, kMaxTensors = 16;
  void add(uint64_t word);
  void add_tensor(TensorImpl& tensor);
  void add_value(const Value& value);

  bool complete_ = true;
  size_t count_ = 0, num_tensors_ = 0;
  uint64_t hash_ = 0;
  uint64_t words_[kMaxWords];
  TensorImpl* tensors_[kMaxTensors];
};

// What was prepared for the calls of one op; `Prepared` has the facts' `words`. Lookups take no lock; a
// place once taken stays taken, because a call may be running what it holds.
template <class Prepared>
class CallCache {
 public:
  ~CallCache() {
    for (Place& place : places_) delete place.call.load();
  }

  const Prepared* find(const CallFacts& facts) const {
    const Prepared* call = places_[place_of(facts)].call.load(std::memory_order_acquire);
    return call && std::ranges::equal(call->words, facts.words()) ? call : nullptr;
  }

  // Whether this call shall be prepared: its place is free, and the last call there was like it.
  bool wants(const CallFacts& facts) {
    Place& place = places_[place_of(facts)];
    if (place.call.load(std::memory_order_relaxed)) return false;
    return place.last_hash.exchange(facts.hash(), std::memory_order_relaxed) == facts.hash();
  }

  void add(const CallFacts& facts, std::unique_ptr<Prepared> prepared) {
    const Prepared* expected = nullptr;
    if (places_[place_of(facts)].call.compare_exchange_strong(expected, prepared.get(), std::memory_order_acq_rel))
      static_cast<void>(prepared.release());
  }

 private:
  static constexpr size_t kPlaces = 32;
  struct Place {
    std::atomic<const Prepared*> call{nullptr};
    std::atomic<uint64_t> last_hash{0};
  };
  static size_t place_of(const CallFacts& facts) { return facts.hash() >> 20 & (kPlaces - 1); }

  Place places_[kPlaces];
};

}  // namespace pellucid
