#include "timeline/clock.h"

#include <cpuid.h>
#include <time.h>

namespace pellucid {
namespace {

bool has_invariant_counter() {
  unsigned a, b, c, d;
  constexpr unsigned kPowerManagement = 0x80000007, kInvariant = 1u << 8;
  return __get_cpuid(kPowerManagement, &a, &b, &c, &d) && d & kInvariant;
}

}  // namespace

constinit bool counter_is_steady = false;

uint64_t system_nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The closest of several pairs, because the thread may be preempted between the two clocks.
ClockReading read_clocks() {
  static const bool is_steady = has_invariant_counter();
  if (is_steady != counter_is_steady) counter_is_steady = is_steady;
  ClockReading best{};
  uint64_t least = UINT64_MAX;
  for (int attempt = 0; attempt < 8; ++attempt) {
    const uint64_t before = ticks(), now = system_nanoseconds(), after = ticks();
    if (after - before >= least) continue;
    least = after - before;
    best = {before + least / 2, now};
  }
  return best;
}

}  // namespace pellucid
