// Waiting for other ranks: spin, then yield, then sleep on a futex, with checks for the deadline and for ended ranks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

namespace pellucid::distributed {

enum class Cause { Ended, Left, TimedOut, Mismatch, Interrupted };

// Why a collective failed, and which ranks caused it.
struct Failure {
  Cause cause;
  std::vector<int> ranks;
};

// A counter in shared memory that others wait for.
struct alignas(64) Bell {
  std::atomic<uint32_t> count{0};
  std::atomic<uint32_t> sleepers{0};

  void ring(uint32_t value);
  void ring() { ring(count.load(std::memory_order_relaxed) + 1); }
  // For bells with several ringers.
  void ring_shared();
  // Sleeps until the count differs from `seen`, a signal arrives or the time is over.
  void sleep(uint32_t seen, std::chrono::milliseconds time);
  // Whether the count has reached `value`; counts wrap.
  bool has_reached(uint32_t value) const {
    return static_cast<int32_t>(count.load(std::memory_order_acquire) - value) >= 0;
  }
};

constexpr int kSpinsBeforeYield = 50, kYieldsBeforeSleep = 500;

// The core that runs this thread, and how many may run it.
int current_core();
int usable_cores();

void pause_briefly();
// Whether this thread should yield. After a yield took long, because other programs compete for the core, the thread
// sleeps instead for its next waits: a sleeping thread is woken at once, a yielding one waits for their time slices.
bool may_yield();
// False if it took long.
bool yield_processor();

// Waits until `ready()`; `bell` is rung when that may have become true. `may_spin`: what it waits for may be running
// now, on another core. `check` is called between sleeps; it raises a Failure when there is nothing left to wait for.
template <class Ready, class Check>
void wait_until(Bell& bell, bool may_spin, Ready ready, Check check) {
  for (int i = may_spin ? 0 : kSpinsBeforeYield; i < kSpinsBeforeYield; ++i) {
    if (ready()) return;
    pause_briefly();
  }
  for (int i = may_yield() ? 0 : kYieldsBeforeSleep; i < kYieldsBeforeSleep; ++i) {
    if (ready()) return;
    if (!yield_processor()) break;
  }
  for (;;) {
    const uint32_t seen = bell.count.load(std::memory_order_acquire);
    if (ready()) return;
    bell.sleep(seen, std::chrono::milliseconds(50));
    if (ready()) return;
    check();
  }
}

// Copies memory of another process. False if the kernel refuses or the process has ended.
bool read_memory(int pid, const char* address, char* target, size_t nbytes);

// The processes of a group's ranks, watched through descriptors that become readable when a process ends (pidfds).
class Processes {
 public:
  explicit Processes(std::span<const int> pids);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  bool has_ended(int rank) const;
  // Copies memory of a rank. False if the kernel refuses or the process has ended.
  bool read(int rank, const char* address, char* target, size_t nbytes) const;

 private:
  std::vector<int> pids_;
  std::vector<int> descriptors_;
};

}  // namespace pellucid::distributed
