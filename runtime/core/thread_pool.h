// The thread pool: fixed blocks of work over all threads, the caller included.
//
// A caller cuts its work into blocks by problem size alone, so that results do not depend on the
// number of threads. Blocks are handed out in order; the lowest block's status or exception is the
// one that is reported. Nested regions and callers that find the pool busy run inline. The child of
// a fork runs on one thread. Workers take over the caller's floating-point mode (flush-to-zero).
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/launch.h"
#include "core/thread_state.h"

namespace pellucid {

// Work below this many elements of simple arithmetic is not worth a second thread.
constexpr int64_t kParallelGrain = 32768;

int num_threads();
void set_num_threads(int count);  // raises a Runtime error below 1

using BlockFunction = int64_t (*)(void* context, int64_t block);
// Runs block 0 .. num_blocks-1; returns the lowest block's non-zero status, or 0; rethrows its exception.
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
