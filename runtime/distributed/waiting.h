// Waiting for other ranks: spin, then yield, then sleep on a futex, with a deadline and a look at who is alive.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace pellucid::distributed {

enum class Cause { Ended, Left, TimedOut, Mismatch, Interrupted };

// Why a collective did not end well, and through which ranks.
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
  // For bells that several ring.
  void ring_shared();
  // Until the count differs from `seen`, a signal arrives or the time is over.
  void sleep(uint32_t seen, std::chrono::milliseconds time);
  // Whether the count has reached `value`; counts wrap.
  bool has_reached(uint32_t value) const {
    return static_cast<int32_t>(count.load(std::memory_order_acquire) - value) >= 0;
  }
};

// How long to spin and yield before sleeping: there is nothing to gain by spinning while ranks outnumber cores.
struct Patience {
  int spins, yields;
  static Patience of(int ranks_of_machine);
};

// What one wait needs: called between sleeps, raises a Failure when there is nothing left to wait for.
using Check = std::function<void()>;

void pause_briefly();
// Whether yielding is worth a try in this thread: not for some waits after it took long, because other programs want
// the core. A thread that sleeps is woken at once; one that yields waits until they have had their turns.
bool may_yield();
// False: it took long.
bool yield_processor();

// Waits until `ready()`; `bell` is rung when it may have become so.
template <class Ready>
void wait_until(Bell& bell, const Patience& patience, Ready ready, const Check& check) {
  for (int i = 0; i < patience.spins; ++i) {
    if (ready()) return;
    pause_briefly();
  }
  for (int i = may_yield() ? 0 : patience.yields; i < patience.yields; ++i) {
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

// Copies a process's memory; false where the kernel refuses or the process has ended.
bool read_memory(int pid, const char* address, char* target, size_t nbytes);

// The processes of a group's ranks, watched by descriptors that become readable when they end.
class Processes {
 public:
  explicit Processes(std::span<const int> pids);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  bool has_ended(int rank) const;
  // Copies a process's memory; false where the kernel refuses or the process has ended.
  bool read(int rank, const char* address, char* target, size_t nbytes) const;

 private:
  std::vector<int> pids_;
  std::vector<int> descriptors_;
};

}  // namespace pellucid::distributed
