#include "threads/fork_safe_mutex.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

#include "threads/at_fork.h"

namespace pellucid {

class ForkList {
 public:
  static void add(ForkEntry& entry) {
    // Registered before the handlers of those who have a mutex, so their handlers in the child find it unlocked.
    static const AtFork handlers(hold, release, release_in_child);
    entry.next_ = first_.load();
    while (!first_.compare_exchange_weak(entry.next_, &entry)) {}
  }

 private:
  static void hold() {
    using namespace std::chrono_literals;
    constexpr auto kLongest = 1000us, kBeforeMessage = 10'000'000us;
    const ForkEntry* const first = first_.load();
    auto waited = 0us;
    for (auto pause = 10us; !take_all(first); pause = std::min(2 * pause, kLongest)) {
      std::this_thread::sleep_for(pause);
      if (waited < kBeforeMessage && (waited += pause) >= kBeforeMessage) report_wait();
    }
    held_ = first;
  }
  static void release() { release_until(held_, nullptr); }
  static void release_in_child() {
    for (const ForkEntry* entry = held_; entry; entry = entry->next_) entry->operations_.unlock_in_child(entry->mutex_);
  }

  // All or none.
  static bool take_all(const ForkEntry* first) {
    const ForkEntry* entry = first;
    while (entry && entry->operations_.try_lock(entry->mutex_)) entry = entry->next_;
    if (entry) release_until(first, entry);
    return !entry;
  }
  // Another thread that forks sets held_ as soon as it has all of them.
  static void release_until(const ForkEntry* first, const ForkEntry* end) {
    for (const ForkEntry* entry = first; entry != end; entry = entry->next_) entry->operations_.unlock(entry->mutex_);
  }

  static void report_wait() {
    constexpr std::string_view kMessage =
        "pellucid: a fork waits for a lock of another thread, or of its own thread if a signal handler forks.\n";
    static_cast<void>(!write(STDERR_FILENO, kMessage.data(), kMessage.size()));
  }

  // Constant-initialised, before the mutexes of other files are made.
  static constinit std::atomic<const ForkEntry*> first_;
  static constinit const ForkEntry* held_;  // the first that the forking thread holds
};

constinit std::atomic<const ForkEntry*> ForkList::first_{nullptr};
constinit const ForkEntry* ForkList::held_ = nullptr;

ForkEntry::ForkEntry(void* mutex, const Operations& operations) : mutex_(mutex), operations_(operations) {
  ForkList::add(*this);
}

}  // namespace pellucid
