// Inline caches: repeated calls of one public name run what the first of them prepared.
//
// Arguments that are the same but for the contents and places of their tensors select the same overload,
// become the same Values and end in the same kernel launches (core/call_facts.h), so that parsing, key and
// lookup are left out. Only what no key between Python and the CPU kernel wants to see but those that record
// for gradients is cached: no mode or observer is active. Changes under the interpreter lock.
// Called by op_callable.cpp, method_entries.cpp and operators.cpp.
#pragma once

#include <memory>
#include <vector>

#include "core/call_facts.h"
#include "core/stored_values.h"
#include "python/arguments.h"

namespace pellucid::python {

// A call, and its prepared form: null when it cannot be prepared.
struct CachedCall {
  std::vector<uint64_t> words;  // the facts of its arguments
  uint64_t hash = 0;
  std::unique_ptr<Prepared> prepared;
  const OpRecord* op = nullptr;
  size_t num_results = 0;
  KeySet keys;               // those that chose the kernel
  uint32_t epoch = 0;        // of the op, when they did
  StoredValues values;       // the arguments; the tensors are those of the last call
  std::vector<Object> held;  // objects that `words` names by their address
};

class InlineCache {
 public:
  // The result of a cached call; null for others, when `wanted` says whether to cache this one.
  PyObject* run(const PythonArguments& given, bool& wanted);
  void insert(std::unique_ptr<CachedCall> call);

 private:
  static constexpr size_t kPlacesLog2 = 4;
  struct Place {
    std::unique_ptr<CachedCall> call;
    uint64_t last_hash = 0;
  };
  PyObject* run_watched(const PythonArguments& given, bool& wanted);
  template <class Watcher>
  PyObject* run_seen(const PythonArguments& given, bool& wanted, const Watcher& watcher);
  Place& place_of(uint64_t hash) { return places_[hash >> (64 - kPlacesLog2)]; }

  std::unique_ptr<Place[]> places_;
};

// The call whose arguments `given` were parsed to `parsed`, for InlineCache::insert. Null if it cannot be cached: its
// Values point to memory of the call alone, or are in another order than the tensors were given in.
std::unique_ptr<CachedCall> describe_call(const PythonArguments& given, const Signature& signature,
                                          ParsedArguments& parsed);

}  // namespace pellucid::python
