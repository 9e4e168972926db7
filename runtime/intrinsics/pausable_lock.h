// A generator's lock for long loops.
#pragma once

#include <mutex>

#include "core/generator.h"
#include "core/hooks.h"

namespace pellucid {

// Holds a generator during a long loop, but releases it periodically so that signal handlers can run, which may
// draw numbers.
class PausableLock {
 public:
  explicit PausableLock(HostGenerator& generator) : lock_(generator.mutex) {}

  // Called after the loop's first `done` elements.
  void pause_after(int64_t done) {
    constexpr int64_t kBetweenPauses = int64_t{1} << 20;
    if (done % kBetweenPauses != 0 || done == 0) return;
    lock_.unlock();
    ask_interrupt();
    lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace pellucid
