// The facts of a call: everything except the contents and addresses of its tensors; and caches keyed by them.
//
// A small call repeated with the same facts skips promotion, allocation planning and key computation: its
// prepared form runs. Used for plans, pointwise ops, composites, recorded calls and calls from Python.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "core/op_record.h"
#include "core/thread_state.h"

namespace pellucid {

// A call's facts as words, without the contents and addresses of its tensors; and the tensors.
class CallFacts {
 public:
  explicit CallFacts(const OpCall& call);

  bool complete() const { return complete_; }  // false: too many words, or an argument that cannot be encoded
  uint64_t hash() const { return hash_ ^ hash_ >> 29; }
  std::span<const uint64_t> words() const { return {words_, count_}; }
  std::span<TensorImpl* const> tensors() const { return {tensors_, num_tensors_}; }  // a Graph's inputs

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

struct PreparedAction;
struct PreparedList;

// What remains to be done of a call whose facts are known.
struct Prepared {
  virtual ~Prepared() = default;
  // `tensors`: the call's, in argument order. False: not possible this time, and nothing was done.
  virtual bool run(OpCall& call, std::span<TensorImpl* const> tensors) const = 0;
  // False once registrations have changed so that it can never run again.
  virtual bool is_current() const { return true; }
  // Lists what `run` does for a call of `num_tensors` tensors (kernels/prepared_action.h). False if that is more than
  // such a list can say.
  virtual bool list(size_t, PreparedList&) const { return false; }
  // Raises the error for a launch of the list that returned `status`.
  virtual void fail(const OpRecord&, const PreparedAction&, int64_t) const {}
};

// Asks the handler of `call` for a prepared form (`made`), so that the call can be repeated; null if the handler
// cannot prepare it.
struct PreparationRequest {
  const OpCall* call;
  std::unique_ptr<Prepared> made;
};

class PreparationScope {
 public:
  explicit PreparationScope(PreparationRequest& request) : outer_(thread_state.preparation_request) {
    thread_state.preparation_request = &request;
  }
  ~PreparationScope() { thread_state.preparation_request = outer_; }
  PreparationScope(const PreparationScope&) = delete;
  PreparationScope& operator=(const PreparationScope&) = delete;

 private:
  PreparationRequest* const outer_;
};

// The request for this call, or null.
inline PreparationRequest* preparation_request_of(const OpCall& call) {
  PreparationRequest* request = thread_state.preparation_request;
  return request && request->call == &call ? request : nullptr;
}

// The prepared calls of one op; `Kind` holds the facts' `words`. Lookups take no lock. A slot is never released
// once filled, because a call may be running its contents.
template <class Kind>
class CallCache {
 public:
  ~CallCache() {
    for (Place& place : places_) delete place.call.load();
  }

  const Kind* find(const CallFacts& facts) const {
    const Kind* call = places_[place_of(facts)].call.load(std::memory_order_acquire);
    return call && std::ranges::equal(call->words, facts.words()) ? call : nullptr;
  }

  // Whether to prepare this call: its slot is free, and the previous call in the slot had the same facts.
  bool wants(const CallFacts& facts) {
    Place& place = places_[place_of(facts)];
    if (place.call.load(std::memory_order_relaxed)) return false;
    return place.last_hash.exchange(facts.hash(), std::memory_order_relaxed) == facts.hash();
  }

  void add(const CallFacts& facts, std::unique_ptr<Kind> prepared) {
    const Kind* expected = nullptr;
    if (places_[place_of(facts)].call.compare_exchange_strong(expected, prepared.get(), std::memory_order_acq_rel))
      static_cast<void>(prepared.release());
  }

 private:
  static constexpr size_t kPlaces = 32;
  struct Place {
    std::atomic<const Kind*> call{nullptr};
    std::atomic<uint64_t> last_hash{0};
  };
  static size_t place_of(const CallFacts& facts) { return facts.hash() >> 20 & (kPlaces - 1); }

  Place places_[kPlaces];
};

}  // namespace pellucid
