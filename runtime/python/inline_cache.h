// Inline caches: repeated calls of one public name run the prepared form of the first.
//
// Arguments that differ only in the contents and addresses of tensors select the same overload, parse to the same
// Values and lead to the same kernel launches (core/call_facts.h), so parsing, key and lookup are skipped. A call is
// cached only if no mode or observer is active and no key between Python and the CPU kernel, other than those that
// record gradients, must see it. Used under the interpreter lock by op_callable.cpp, method_entries.cpp and
// operators.cpp.
#pragma once

#include <memory>
#include <vector>

#include "core/call_facts.h"
#include "core/stored_values.h"
#include "python/arguments.h"

namespace pellucid::python {

// A cached call and its prepared form, which is null if the call cannot be prepared.
struct CachedCall {
  std::vector<uint64_t> words;  // the facts of its arguments
  uint64_t hash = 0;
  std::unique_ptr<Prepared> prepared;
  const OpRecord* op = nullptr;
  size_t num_results = 0;
  KeySet keys;               // that selected the kernel
  uint32_t epoch = 0;        // of the op, at that time
  StoredValues values;       // the arguments, with the tensors of the last call
  std::vector<Object> held;  // objects whose addresses are in `words`
};

class InlineCache {
 public:
  // The result of a cached call. For other calls null, and `wanted` is set to whether to cache this one.
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

// Describes the call whose arguments `given` were parsed to `parsed`, for InlineCache::insert. Null if it cannot be
// cached: its Values point to temporary memory, or the tensors are not in the order in which they were given.
std::unique_ptr<CachedCall> describe_call(const PythonArguments& given, const Signature& signature,
                                          ParsedArguments& parsed);

}  // namespace pellucid::python
