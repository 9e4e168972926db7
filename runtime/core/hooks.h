// What layers above core/ install at start-up: core knows tensors, not graphs or recordings.
#pragma once

#include "core/thread_state.h"

namespace pellucid {

struct AutogradMeta;
struct TensorImpl;
struct Wrapper;

struct CoreHooks {
  // Frees a tensor's autograd data (gradient, node, hooks); installed by autograd/.
  void (*destroy_autograd_meta)(AutogradMeta* meta) = nullptr;
  // Frees what a function transform keeps in a tensor; installed by transforms/.
  void (*destroy_wrapper)(Wrapper* wrapper) = nullptr;
  // A tensor of a function transform without history, with a count for the caller; likewise.
  TensorImpl* (*detach_wrapped)(TensorImpl& tensor) = nullptr;
  // Runs the recording that defines a pending tensor and fills its storage; installed by the recorder.
  void (*flush)(TensorImpl& tensor) = nullptr;
  // A tensor dies whose value is still pending: the recording may drop it.
  void (*forget_pending)(TensorImpl& tensor) = nullptr;
  // A tensor dies that owns its Python object (kPythonState); may be called without the interpreter
  // lock. Installed by the bindings.
  void (*release_python_object)(TensorImpl& tensor) = nullptr;
  // Asks whether the user wants a long computation to stop: called between blocks of work by threads
  // that Python called, seldom; throws to stop. Installed by the bindings.
  void (*check_interrupt)() = nullptr;
  // A warning in the thread's Python, as warnings.warn would give it; installed by the bindings.
  void (*warn)(const char* message) = nullptr;
};

extern CoreHooks core_hooks;

// For long loops on the calling thread, now and then, with no lock held: a signal handler may run here
// and call ops. Throws when the user wants to stop. Free of effect inside a parallel region.
inline void ask_interrupt() {
  if (core_hooks.check_interrupt && !thread_state.in_parallel_region) core_hooks.check_interrupt();
}

// Shows `message` through the installed hook, else on stderr.
[[gnu::cold]] [[gnu::format(printf, 1, 2)]] void warn(const char* format, ...);

}  // namespace pellucid
