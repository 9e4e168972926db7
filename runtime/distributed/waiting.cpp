#include "distributed/waiting.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>

namespace pellucid::distributed {

namespace {

// In place of a descriptor: the process had ended, or the kernel has no pidfds.
constexpr int kEnded = -1, kUnknown = -2;

// A yield to another rank is shorter; one to another program's time slice is longer.
constexpr auto kLongYield = std::chrono::microseconds(200);
constexpr int kWaitsWithoutYields = 256;
thread_local int waits_without_yields = 0;

long futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* time) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(word), operation, value, time, nullptr, 0);
}

}  // namespace

void Bell::ring(uint32_t value) {
  count.store(value, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst)) futex(&count, FUTEX_WAKE, INT_MAX, nullptr);
}

void Bell::ring_shared() {
  count.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers.load(std::memory_order_seq_cst)) futex(&count, FUTEX_WAKE, INT_MAX, nullptr);
}

void Bell::sleep(uint32_t seen, std::chrono::milliseconds time) {
  const timespec limit{time.count() / 1000, (time.count() % 1000) * 1000000};
  sleepers.fetch_add(1, std::memory_order_seq_cst);
  futex(&count, FUTEX_WAIT, seen, &limit);
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

int current_core() { return sched_getcpu(); }

int usable_cores() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

void pause_briefly() { _mm_pause(); }

bool may_yield() {
  if (waits_without_yields == 0) return true;
  --waits_without_yields;
  return false;
}

bool yield_processor() {
  const auto start = std::chrono::steady_clock::now();
  sched_yield();
  if (std::chrono::steady_clock::now() - start < kLongYield) return true;
  waits_without_yields = kWaitsWithoutYields;
  return false;
}

Processes::Processes(std::span<const int> pids) : pids_(pids.begin(), pids.end()) {
  for (const int pid : pids) {
    const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    descriptors_.push_back(descriptor >= 0 ? descriptor : errno == ESRCH ? kEnded : kUnknown);
  }
}

Processes::~Processes() {
  for (const int descriptor : descriptors_)
    if (descriptor >= 0) close(descriptor);
}

bool Processes::has_ended(int rank) const {
  pollfd watched{descriptors_[static_cast<size_t>(rank)], POLLIN, 0};
  return watched.fd == kEnded || (watched.fd >= 0 && poll(&watched, 1, 0) == 1);
}

bool Processes::read(int rank, const char* address, char* target, size_t nbytes) const {
  return read_memory(pids_[static_cast<size_t>(rank)], address, target, nbytes);
}

bool read_memory(int pid, const char* address, char* target, size_t nbytes) {
  while (nbytes > 0) {
    const iovec here{target, nbytes}, there{const_cast<char*>(address), nbytes};
    const ssize_t moved = process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (moved <= 0) return false;
    address += moved;
    target += moved;
    nbytes -= static_cast<size_t>(moved);
  }
  return true;
}

}  // namespace pellucid::distributed
