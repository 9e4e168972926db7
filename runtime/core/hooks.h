// Hooks that higher folders install at start-up: core knows tensors, not graphs or recordings.
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
  // Frees what a function transform stores in a tensor; installed by transforms/.
  void (*destroy_wrapper)(Wrapper* wrapper) = nullptr;
  // A detached tensor of a function transform, with a reference for the caller; installed by transforms/.
  TensorImpl* (*detach_wrapped)(TensorImpl& tensor) = nullptr;
  // Called when the memory of a tensor without any (kNoMemory) is needed: takes it from the wrapped tensor, or
  // raises. Installed by the bindings.
  void (*find_memory)(TensorImpl& tensor) = nullptr;
  // Computes a recorded value, or the value that a view is of, so that the tensor has memory; false for other
  // tensors. Installed by record/.
  bool (*find_recorded)(TensorImpl& tensor) = nullptr;
  // Runs the recorded ops of all threads that read the storage.
  void (*run_readers)(Storage& storage) = nullptr;
  // Runs everything that this thread has recorded.
  void (*run_recorded)() = nullptr;
  // Called when a tensor that owns its Python object (kPythonState) dies, possibly without the interpreter lock.
  // Installed by the bindings.
  void (*release_python_object)(TensorImpl& tensor) = nullptr;
  // Throws if the user wants to stop a long computation. Called occasionally, between blocks of work, by threads
  // that Python called. Installed by the bindings.
  void (*check_interrupt)() = nullptr;
  // Runs `work(context)` with the interpreter lock released, if the caller holds it; installed by the bindings.
  void (*without_interpreter_lock)(void (*work)(void*), void* context) = nullptr;
  // Issues a Python warning in this thread, as warnings.warn does; installed by the bindings.
  void (*warn)(const char* message) = nullptr;
  // Runs a call with its operands cast as the op's declaration says. Installed when the first autocast region is
  // entered; late ops defined after that register it at Key::Autocast.
  void (*run_with_casts)(OpCall& call, void* context) = nullptr;
  // Runs a factory that makes a sparse tensor, or raises; installed by the bindings.
  void (*run_as_sparse)(OpCall& call) = nullptr;
};

extern CoreHooks core_hooks;

// Must be called before the memory of a tensor is written or its address is exposed: pending recorded ops read
// the current contents first.
inline void before_write(Storage& storage) {
  if (storage.awaited.load(std::memory_order_relaxed)) [[unlikely]]
    core_hooks.run_readers(storage);
}
// Must be called before an effect that has to be ordered with the recorded ops.
inline void run_recorded_ops() {
  if (thread_state.include.has(Key::Lazy)) [[unlikely]]
    core_hooks.run_recorded();
}

// For long loops on the calling thread, now and then, holding no lock: a signal handler may run here and call
// ops. Throws if the user wants to stop. Does nothing inside a parallel region.
inline void ask_interrupt() {
  if (core_hooks.check_interrupt && !thread_state.in_parallel_region) core_hooks.check_interrupt();
}

// For long work, and for waiting for threads that may need the interpreter.
template <class Work>
void without_interpreter_lock(Work&& work) {
  if (!core_hooks.without_interpreter_lock) return work();
  core_hooks.without_interpreter_lock([](void* context) { (*static_cast<std::remove_reference_t<Work>*>(context))(); },
                                      const_cast<void*>(static_cast<const void*>(&work)));
}

// Issues `message` through the installed hook, else writes it to stderr.
[[gnu::cold]] [[gnu::format(printf, 1, 2)]] void warn(const char* format, ...);

}  // namespace pellucid
