// The timeline's clock: the processor's time-stamp counter if it runs at a constant rate on every core, else the
// system's clock.
#pragma once

#include <cstdint>

namespace pellucid {

extern bool counter_is_steady;  // set by the first read_clocks
uint64_t system_nanoseconds();  // CLOCK_MONOTONIC, as time.monotonic_ns and time.perf_counter_ns

inline uint64_t ticks() {
  if (counter_is_steady) [[likely]]
    return __builtin_ia32_rdtsc();  // as __rdtsc(), without the headers of all vector instructions
  return system_nanoseconds();
}

// The same moment on both clocks; two readings convert ticks to nanoseconds.
struct ClockReading {
  uint64_t ticks, nanoseconds;
};
ClockReading read_clocks();

}  // namespace pellucid
