// Inline caches: calls of one public name that come again run what was prepared for the first of them.
//
// Arguments that are the same but for the contents and places of their tensors select the same overload,
// become the same Values and end in the same kernel launches (core/call_facts.h), so that parsing, key and
// lookup are left out. Only what no key between Python and the CPU kernel wants to see but those that record
// for gradients is kept: no mode or observer looks on. Changes under the interpreter lock.
// Called by op_callable.cpp, method_entries.cpp and operators.cpp.
#pragma once

#include <memory>
#include <vector>

#include "core/call_facts.h"
#include "core/stored_values.h"
#include "python/arguments.h"

namespace pellucid::python {

// A call that was met, and what repeats it: null when nothing can.
struct KeptCall {
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
  // The result of a call that was kept; null for others, when `wanted` says whether this one should be.
  PyObject* run(const PythonArguments& given, bool& wanted);
  void keep(std::unique_ptr<KeptCall> call);

 private:
  static constexpr size_t kPlacesLog2 = 4;
  struct Place {
    std::unique_ptr<KeptCall> call;
    uint64_t last_hash = 0;
  };
  template <class Watcher>
  PyObject* run_seen(const PythonArguments& given, bool& wanted, const Watcher& watcher);
  Place& place_of(uint64_t hash) { return places_[hash >> (64 - kPlacesLog2)]; }

  std::unique_ptr<Place[]> places_;
};

// The call whose arguments `given` were parsed to `parsed`, for InlineCache::keep. Null for calls that never are: their
// Values lead to memory that the call alone has, or stand in another order than the tensors were given in.
std::unique_ptr<KeptCall> describe_call(const PythonArguments& given, const Signature& signature,
                                        ParsedArguments& parsed);

}  // namespace pellucid::python
