#include "threads/fork_safe_mutex.h"

#include <pthread.h>

#include <thread>
#include <utility>

namespace pellucid {

class ForkList {
 public:
  static void add(ForkEntry& entry) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(has_handlers_, true)) pthread_atfork(hold, release, release_in_child);
    link(entry);
  }
  static void remove(ForkEntry& entry) {
    const std::lock_guard lock(mutex_);
    unlink(entry);
  }

 private:
  static void link(ForkEntry& entry) {
    entry.previous_ = nullptr;
    entry.next_ = first_;
    if (first_) first_->previous_ = &entry;
    first_ = &entry;
  }
  static void unlink(ForkEntry& entry) {
    (entry.previous_ ? entry.previous_->next_ : first_) = entry.next_;
    if (entry.next_) entry.next_->previous_ = entry.previous_;
  }

  // Between attempts the list is free: a holder may make or destroy other mutexes before it releases its own. The
  // mutex that was held becomes the first one, so that an attempt that fails is short.
  static void hold() {
    for (;;) {
      mutex_.lock();
      ForkEntry* const held = take_until_one_is_held();
      if (!held) return;
      release_until(held);
      unlink(*held);
      link(*held);
      mutex_.unlock();
      std::this_thread::yield();
    }
  }
  static void release() {
    release_until(nullptr);
    mutex_.unlock();
  }
  static void release_in_child() {
    for (ForkEntry* entry = first_; entry; entry = entry->next_) entry->operations_.unlock_in_child(entry->mutex_);
    mutex_.unlock();
  }

  static ForkEntry* take_until_one_is_held() {
    ForkEntry* entry = first_;
    while (entry && entry->operations_.try_lock(entry->mutex_)) entry = entry->next_;
    return entry;
  }
  static void release_until(const ForkEntry* end) {
    for (ForkEntry* entry = first_; entry != end; entry = entry->next_) entry->operations_.unlock(entry->mutex_);
  }

  // Constant-initialised and never destroyed: static objects have mutexes, too.
  static constinit std::mutex mutex_;
  static constinit ForkEntry* first_;
  static constinit bool has_handlers_;
};

constinit std::mutex ForkList::mutex_;
constinit ForkEntry* ForkList::first_ = nullptr;
constinit bool ForkList::has_handlers_ = false;

ForkEntry::ForkEntry(void* mutex, const Operations& operations) : mutex_(mutex), operations_(operations) {
  ForkList::add(*this);
}
ForkEntry::~ForkEntry() { ForkList::remove(*this); }

}  // namespace pellucid
