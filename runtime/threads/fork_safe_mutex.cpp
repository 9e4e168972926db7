#include "threads/fork_safe_mutex.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <string_view>
#include <thread>

#include "threads/at_fork.h"

// The bounds of the section, which the linker defines.
extern "C" {
[[gnu::visibility("hidden")]] extern char __start_fork_safe[];
[[gnu::visibility("hidden")]] extern char __stop_fork_safe[];
}

namespace pellucid {
namespace {

// Calls `visit` for each mutex until it returns false; the number of mutexes for which it returned true.
template <class Visit>
size_t for_each_mutex(Visit visit) {
  size_t count = 0;
  for (char* line = __start_fork_safe; line < __stop_fork_safe; line += alignof(ForkSafeMutex), ++count) {
    auto& entry = *reinterpret_cast<ForkEntry*>(line);
    const bool goes_on = entry.is_recursive ? visit(static_cast<ForkSafeRecursiveMutex&>(entry))
                                            : visit(static_cast<ForkSafeMutex&>(entry));
    if (!goes_on) break;
  }
  return count;
}

// All or none.
bool take_all() {
  bool has_all = true;
  size_t taken = for_each_mutex([&](auto& mutex) { return has_all = mutex.try_lock(); });
  if (!has_all)
    for_each_mutex([&](auto& mutex) {
      if (taken == 0) return false;
      mutex.unlock();
      return --taken > 0;
    });
  return has_all;
}

void report_wait() {
  constexpr std::string_view kMessage =
      "pellucid: a fork waits for a lock of another thread, or of its own thread if a signal handler forks.\n";
  static_cast<void>(!write(STDERR_FILENO, kMessage.data(), kMessage.size()));
}

void hold() {
  using namespace std::chrono_literals;
  constexpr auto kLongest = 1000us, kBeforeMessage = 10'000'000us;
  auto waited = 0us;
  for (auto pause = 10us; !take_all(); pause = std::min(2 * pause, kLongest)) {
    std::this_thread::sleep_for(pause);
    if (waited < kBeforeMessage && (waited += pause) >= kBeforeMessage) report_wait();
  }
}

void release() {
  for_each_mutex([](auto& mutex) {
    mutex.unlock();
    return true;
  });
}

// A recursive mutex knows its owner by a number that the thread no longer has in the child.
void release_one_in_child(std::mutex& mutex) { mutex.unlock(); }
void release_one_in_child(std::recursive_mutex& mutex) { new (&mutex) std::recursive_mutex; }

void release_in_child() {
  for_each_mutex([](auto& mutex) {
    release_one_in_child(mutex);
    return true;
  });
}

constinit std::atomic<bool> is_registered{false};

}  // namespace

void take_mutexes_at_forks() {
  if (!is_registered.exchange(true)) at_fork(hold, release, release_in_child);
}

}  // namespace pellucid
