// What layers above core/ install at start-up: core knows tensors, not graphs or recordings.
#pragma once

#include <type_traits>

#include "core/storage.h"
#include "core/thread_state.h"

namespace pellucid {

struct AutogradMeta;
struct OpCall;
struct Storage;
struct TensorImpl;
struct Wrapper;

struct CoreHooks {
  // Frees a tensor's autograd data (gradient, node, hooks); installed by autograd/.
  void (*destroy_autograd_meta)(AutogradMeta* meta) = nullptr;
  // Frees what a function transform keeps in a tensor; installed by transforms/.
  void (*destroy_wrapper)(Wrapper* wrapper) = nullptr;
  // A tensor of a function transform without history, with a count for the caller; likewise.
  TensorImpl* (*detach_wrapped)(TensorImpl& tensor) = nullptr;
  // Called when memory of a tensor without any (kNoMemory) is needed: gives it the wrapped tensor's, or raises.
  // Installed by the bindings.
  void (*find_memory)(TensorImpl& tensor) = nullptr;
  // The memory of a recorded value, or of a view of it, which it computes first; false for other tensors. Likewise
  // installed by record/.
  bool (*find_recorded)(TensorImpl& tensor) = nullptr;
  // Runs the recorded ops that read the storage, of every thread.
  void (*run_readers)(Storage& storage) = nullptr;
  // Runs what this thread recorded.
  void (*run_recorded)() = nullptr;
  // A tensor dies that owns its Python object (kPythonState); may be called without the interpreter
  // lock. Installed by the bindings.
  void (*release_python_object)(TensorImpl& tensor) = nullptr;
  // Asks whether the user wants a long computation to stop: called between blocks of work by threads
  // that Python called, seldom; throws to stop. Installed by the bindings.
  void (*check_interrupt)() = nullptr;
  // Runs `work(context)` while other threads may have the interpreter, whose lock the caller may hold;
  // installed by the bindings.
  void (*without_interpreter_lock)(void (*work)(void*), void* context) = nullptr;
  // A warning in the thread's Python, as warnings.warn would give it; installed by the bindings.
  void (*warn)(const char* message) = nullptr;
  // Runs a call with its operands cast as its op's declaration says; installed when the first autocast region is
  // entered, for ops that are defined later.
  void (*run_with_casts)(OpCall& call, void* context) = nullptr;
};

extern CoreHooks core_hooks;

// Before the memory of a tensor is written, or an address of it leaves: what was recorded reads what is there now.
inline void before_write(Storage& storage) {
  if (storage.awaited.load(std::memory_order_relaxed)) [[unlikely]]
    core_hooks.run_readers(storage);
}
// Before something happens that recorded ops must not see, nor be seen by.
inline void run_recorded_ops() {
  if (thread_state.include.has(Key::Lazy)) [[unlikely]]
    core_hooks.run_recorded();
}

// For long loops on the calling thread, now and then, with no lock held: a signal handler may run here
// and call ops. Throws when the user wants to stop. Free of effect inside a parallel region.
inline void ask_interrupt() {
  if (core_hooks.check_interrupt && !thread_state.in_parallel_region) core_hooks.check_interrupt();
}

// For work that lasts, or waits for threads that may want the interpreter.
template <class Work>
void without_interpreter_lock(Work&& work) {
  if (!core_hooks.without_interpreter_lock) return work();
  core_hooks.without_interpreter_lock([](void* context) { (*static_cast<std::remove_reference_t<Work>*>(context))(); },
                                      const_cast<void*>(static_cast<const void*>(&work)));
}

// Shows `message` through the installed hook, else on stderr.
[[gnu::cold]] [[gnu::format(printf, 1, 2)]] void warn(const char* format, ...);

}  // namespace pellucid
