// The dispatcher: op records by name, kernels by key, and the call.
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

// Defines the overloads of an op name that the op table defines when they are looked up; installed by ops/.
extern void (*define_missing_ops)(std::string_view name);

// "aten::add.Tensor" of "add.Tensor", and the reverse. Ops of other namespaces are named in full everywhere.
std::string qualified_name(std::string_view name);
std::string_view short_name(std::string_view qualified);

// Records live forever, but for owned ones. `find` returns null for an unknown name ("add.Tensor", "aten::add.Tensor").
OpRecord* find_op(std::string_view name);
OpRecord* define_op(std::string_view schema_text, std::string_view name_space = "aten");

// Owned records: those of derivatives, of which a process may meet ever more. When the last owner lets go of one, its
// name is free, and it waits among the retired ones until `take_retired_ops` gives it out, to be emptied and recycled.
// `find_owned_op` is null where the name is free.
std::shared_ptr<OpRecord> find_owned_op(std::string_view qualified_name);
std::shared_ptr<OpRecord> define_owned_op(std::string_view schema_text, std::string_view name_space);
// Null for records that live forever.
inline std::shared_ptr<OpRecord> owner_of(const OpRecord& op) { return op.self.lock(); }
// From now on the record lives forever: for who stores pointers to it and cannot own it.
void keep_op_forever(const OpRecord& op);
// While such a scope exists nothing is given out: for who writes down which ops ran, to ask their names later.
struct RetiredOpsScope {
  RetiredOpsScope();
  ~RetiredOpsScope();
  RetiredOpsScope(const RetiredOpsScope&) = delete;
  RetiredOpsScope& operator=(const RetiredOpsScope&) = delete;
};
// All but the last few, which a thread that looked them up by name may still read.
std::vector<OpRecord*> take_retired_ops();
void recycle_op(OpRecord& op);  // it is empty: the next owned record takes its place
struct OpCounts {
  size_t records, retired, free;
};
OpCounts count_ops();

// Per-key registration; Catch-all serves every key without an entry of its own; a fall-through
// entry lets the next lower key run. Precedence at a key: own entry, fall-through, the key's fallback,
// catch-all. Raises when an entry would be replaced without `replace`.
void register_kernel(OpRecord& op, Key key, KernelEntry entry, bool replace = false);
void register_catch_all(OpRecord& op, KernelEntry entry);
void register_fallback(Key key, KernelEntry entry);  // for all ops at a key (modes, subclasses)
void register_fall_through(OpRecord& op, Key key);

// What was registered at a key, to be put back by `set_entry`: a kernel, a fall-through, or neither.
struct KeyEntry {
  KernelEntry kernel;
  bool falls_through = false;
};
KeyEntry entry_at(const OpRecord& op, Key key);
void set_entry(OpRecord& op, Key key, KeyEntry entry);
KernelEntry catch_all_of(const OpRecord& op);
KernelEntry fallback_at(Key key);

// Frees an op's name; its record stays, without kernels, for whoever still holds it.
void undefine_op(OpRecord& op);

void for_each_op(void (*visit)(OpRecord& op, void* context), void* context);

// Tracing, in release builds too: every dispatch of every thread passes the observers while one is
// installed. `enter` sees arguments and the chosen key, `leave` results too (unless `failed`).
struct DispatchObserver {
  void (*enter)(const OpCall& call, Key key, void* context);
  void (*leave)(const OpCall& call, Key key, bool failed, void* context);
  void* context;
};
int add_dispatch_observer(DispatchObserver observer);  // returns a token for removal
void remove_dispatch_observer(int token);

void dispatch_watched(OpCall& call);  // for observers and for the timeline
[[noreturn]] void raise_no_kernel(const OpCall& call);

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

// At the head of a CPU kernel whose `device` argument may name another backend: that backend's kernel ran, and the
// caller returns. Raises for a device that is absent.
bool ran_on_named_device(OpCall& call);

// The keys of a call in this thread, of which the highest has the handler; `keys`: its arguments'.
inline KeySet dispatch_keys(const OpRecord& op, KeySet keys) {
  const ThreadState& state = thread_state;
  return ((keys | state.include) - state.exclude) & op.registered;
}

// `keys`: the arguments' keys, already gathered by a caller that read the arguments anyway.
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
