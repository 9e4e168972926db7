// The clock for comparing ways to compute: of this thread's work, which other programs do not disturb, if no other
// thread shares it; else the monotonic one. Times to compare are of one clock.
#pragma once

#include <cstdint>
#include <ctime>

#include "core/thread_pool.h"

namespace pellucid::record {

inline clockid_t working_clock() { return num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC; }

inline int64_t nanoseconds_of(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec * int64_t{1'000'000'000} + now.tv_nsec;
}

}  // namespace pellucid::record
