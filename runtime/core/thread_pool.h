// The thread pool: runs fixed blocks of work on all threads, including the caller.
//
// A caller splits its work into blocks by problem size alone, so that results do not depend on the number of
// threads. Blocks are handed out in order; the status or exception of the lowest failing block is reported.
// Nested regions, and callers that find the pool busy, run inline. The child of a fork runs on one thread.
// Workers adopt the caller's floating-point mode (flush-to-zero).
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/launch.h"
#include "core/thread_state.h"

namespace pellucid {

// Below this many elements of simple arithmetic a second thread is not worthwhile.
constexpr int64_t kParallelGrain = 32768;

int num_threads();
void set_num_threads(int count);  // raises a Runtime error below 1
// The child of a fork runs alone from now on, until it asks for threads. Called when the runtime is loaded.
void forget_threads_at_forks();

using BlockFunction = int64_t (*)(void* context, int64_t block);
// Runs blocks 0 .. num_blocks-1. Returns the non-zero status of the lowest failing block, or 0; rethrows its exception.
int64_t run_blocks(int64_t num_blocks, BlockFunction function, void* context);

// `body(block)` returns void or a status.
template <class Body>
int64_t parallel_blocks(int64_t num_blocks, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  constexpr bool kNoStatus = std::is_void_v<std::invoke_result_t<Plain&, int64_t>>;
  if (num_blocks == 1) {
    if constexpr (!kNoStatus) return body(0);
    else return body(0), 0;
  }
  if (thread_state.launch_recorder) [[unlikely]]
    thread_state.launch_recorder->share_work();
  const BlockFunction call = [](void* context, int64_t block) -> int64_t {
    if constexpr (kNoStatus) {
      (*static_cast<Plain*>(context))(block);
      return 0;
    } else {
      return (*static_cast<Plain*>(context))(block);
    }
  };
  return run_blocks(num_blocks, call, const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace pellucid
