// The runtime's per-thread state. Hot words only: pools are behind a pointer, so that the module's thread-local
// block fits the initial-exec model beside other libraries.
#pragma once

#include <cstdint>

#include "core/keys.h"

namespace pellucid {

struct AllocatorPool;
struct LaunchRecorder;      // core/launch.h
struct PreparationRequest;  // core/call_facts.h

struct ThreadState {
  KeySet include, exclude;
  bool grad_mode = true;
  bool inference_mode = false;
  bool in_parallel_region = false;
  bool anomaly_mode = false;
  bool packs_saved_tensors = false;  // autograd/saved_hooks.h
  uint64_t sequence = 0;             // the next autograd node's number
  AllocatorPool* pool = nullptr;
  LaunchRecorder* launch_recorder = nullptr;
  PreparationRequest* preparation_request = nullptr;
};

// constinit: otherwise every use would go through a wrapper function that checks for initialisation.
extern constinit thread_local ThreadState thread_state __attribute__((tls_model("initial-exec")));

// Removes keys for a scope, so that a handler can redispatch the op below itself.
class ExcludeKeys {
 public:
  explicit ExcludeKeys(KeySet keys) : saved_(thread_state.exclude) { thread_state.exclude = saved_ | keys; }
  ~ExcludeKeys() { thread_state.exclude = saved_; }
  ExcludeKeys(const ExcludeKeys&) = delete;
  ExcludeKeys& operator=(const ExcludeKeys&) = delete;

 private:
  KeySet saved_;
};

}  // namespace pellucid
