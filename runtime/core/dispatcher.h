// The dispatcher: op records by name, kernels by key, and the dispatch of a call.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/op_record.h"
#include "core/thread_state.h"
#include "timeline/watch.h"

namespace pellucid {

// Defines the overloads of an op name that the op table defines only at lookup; installed by ops/.
extern void (*define_missing_ops)(std::string_view name);

// "aten::add.Tensor" for "add.Tensor", and the reverse. Ops of other namespaces always have their full names.
std::string qualified_name(std::string_view name);
std::string_view short_name(std::string_view qualified);

// Records live forever, except owned ones. `find_op` returns null for an unknown name ("add.Tensor",
// "aten::add.Tensor").
OpRecord* find_op(std::string_view name);
OpRecord* define_op(std::string_view schema_text, std::string_view name_space = "aten");

// Owned records belong to derivatives, whose number in a process is unbounded. When its last owner releases a
// record, its name becomes free and the record is retired; `take_retired_ops` returns retired records, to be
// emptied and recycled. `find_owned_op` returns null if the name is free.
std::shared_ptr<OpRecord> find_owned_op(std::string_view qualified_name);
std::shared_ptr<OpRecord> define_owned_op(std::string_view schema_text, std::string_view name_space);
// Null for records that live forever.
inline std::shared_ptr<OpRecord> owner_of(const OpRecord& op) { return op.self.lock(); }
// Makes the record live forever, for code that stores pointers to it and cannot own it.
void keep_op_forever(const OpRecord& op);
// While such a scope exists no retired record is handed out. For code that records which ops ran and looks up
// their names later.
struct RetiredOpsScope {
  RetiredOpsScope();
  ~RetiredOpsScope();
  RetiredOpsScope(const RetiredOpsScope&) = delete;
  RetiredOpsScope& operator=(const RetiredOpsScope&) = delete;
};
// All but the most recent few, which a thread that looked them up by name may still be reading.
std::vector<OpRecord*> take_retired_ops();
void recycle_op(OpRecord& op);  // the record is empty: the next owned record reuses it
struct OpCounts {
  size_t records, retired, free;
};
OpCounts count_ops();

// Per-key registration. A catch-all serves every key without an entry of its own; a fall-through entry lets the
// next lower key run. Precedence at a key: own entry, fall-through, the key's fallback, catch-all. Raises if an
// entry would be replaced without `replace`.
void register_kernel(OpRecord& op, Key key, KernelEntry entry, bool replace = false);
void register_catch_all(OpRecord& op, KernelEntry entry);
void register_fallback(Key key, KernelEntry entry);  // for all ops at a key (modes, subclasses)
void register_fall_through(OpRecord& op, Key key);

// What was registered at a key, so that `set_entry` can restore it: a kernel, a fall-through, or neither.
struct KeyEntry {
  KernelEntry kernel;
  bool falls_through = false;
};
KeyEntry entry_at(const OpRecord& op, Key key);
void set_entry(OpRecord& op, Key key, KeyEntry entry);
KernelEntry catch_all_of(const OpRecord& op);
KernelEntry fallback_at(Key key);

// Frees an op's name; the record remains, without kernels, for those who still hold it.
void undefine_op(OpRecord& op);

void for_each_op(void (*visit)(OpRecord& op, void* context), void* context);

// Tracing, in release builds too: while an observer is installed, every dispatch of every thread calls it.
// `enter` sees the arguments and the chosen key, `leave` also the results (unless `failed`).
struct DispatchObserver {
  void (*enter)(const OpCall& call, Key key, void* context);
  void (*leave)(const OpCall& call, Key key, bool failed, void* context);
  void* context;
};
int add_dispatch_observer(DispatchObserver observer);  // returns a token for removal
void remove_dispatch_observer(int token);

void dispatch_watched(OpCall& call);  // for observers, the timeline and anomaly mode
// While kWatchValues is set: called after a kernel ran; installed by autograd/.
extern void (*examine_results)(const OpCall& call, Key key);
// Names the op, the devices and keys of its tensors, and the kernels that the op has.
[[noreturn]] void raise_no_kernel(const OpCall& call);
// For kernels that a library registers at the CPU's key: calls whose tensors have no kernel at their own backend
// reach the CPU's, as calls without tensors do.
void require_device_of_kernel(const OpCall& call);
[[noreturn]] void raise_two_devices(const OpCall& call, Device first, const TensorImpl& other);

inline KeySet gather_keys(const OpCall& call) {
  uint64_t bits = 0;
  for (uint32_t mask = call.op->schema.tensor_arguments; mask; mask &= mask - 1) {
    const Value& value = call.args[__builtin_ctz(mask)];
    if (value.tag == Tag::Tensor) bits |= value.tensor->keys.bits();
    else if (value.tag == Tag::TensorList || value.tag == Tag::OptionalTensorList)
      for (TensorImpl* tensor : value.list())
        if (tensor) bits |= tensor->keys.bits();
  }
  return KeySet::from_bits(bits);
}

// Called first in a CPU kernel whose `device` argument may name another backend, whose `layout` may be sparse, or whose
// result may have to be in pinned memory. True: the op ran there, and the caller must return. Raises for an absent
// device.
bool ran_elsewhere(OpCall& call);
// Whether argument k is a `pin_memory` that is true: it follows the device.
bool asks_to_pin(const OpCall& call, int k);

// The keys of a call in this thread; the highest one's handler runs. `keys`: those of the arguments.
inline KeySet dispatch_keys(const OpRecord& op, KeySet keys) {
  const ThreadState& state = thread_state;
  return ((keys | state.include) - state.exclude) & op.registered;
}

// `keys`: the arguments' keys, gathered by a caller that read the arguments anyway.
inline void dispatch(OpCall& call, KeySet keys) {
  call.keys = dispatch_keys(*call.op, keys);
  if (watched.load(std::memory_order_relaxed)) [[unlikely]]
    return dispatch_watched(call);
  const KernelEntry& entry = call.op->table[static_cast<int>(call.keys.highest())];
  if (!entry.function) [[unlikely]]
    raise_no_kernel(call);
  entry.function(call, entry.context);
}
inline void dispatch(OpCall& call) { dispatch(call, gather_keys(call)); }

}  // namespace pellucid
