// Mutexes that the child of a fork finds unlocked, and what they protect consistent.
//
// A fork first takes all of them, and releases them in both processes. It does so without an order: if a mutex is
// held, the forking thread releases those it has taken and tries again, so it cannot deadlock with threads that hold
// one and wait for another. It holds the GIL meanwhile, and os.fork also holds the import lock. So the holder of such
// a mutex must not wait for either, nor fork. Locking and unlocking cost the same as for the plain mutex.
//
// They are variables of namespace scope, so few, made when the runtime is loaded and never destroyed. A static object
// that a function makes at its first call must be made under such a mutex: the child of a fork would wait forever for
// another thread that was making it.
//
// The other choice is to replace a mutex in the child (core/thread_pool.cpp), if the state it protects belongs to
// threads that the child does not have.
#pragma once

#include <mutex>
#include <new>
#include <type_traits>

namespace pellucid {

// The entry of a mutex in the list of those that a fork takes. The list only grows, while the runtime is loaded.
class ForkEntry {
 public:
  struct Operations {
    bool (*try_lock)(void* mutex);
    void (*unlock)(void* mutex), (*unlock_in_child)(void* mutex);
  };
  ForkEntry(void* mutex, const Operations& operations);
  ForkEntry(const ForkEntry&) = delete;
  ForkEntry& operator=(const ForkEntry&) = delete;

 private:
  friend class ForkList;
  void* const mutex_;
  const Operations& operations_;
  const ForkEntry* next_;
};

template <class Mutex>
class alignas(64) ForkSafe : public Mutex {  // a cache line of its own
 public:
  ForkSafe() : entry_(static_cast<Mutex*>(this), kOperations) {
    static_assert(std::is_trivially_destructible_v<ForkSafe>, "threads may outlive the end of main");
  }

 private:
  static constexpr ForkEntry::Operations kOperations = {
      [](void* mutex) { return static_cast<Mutex*>(mutex)->try_lock(); },
      [](void* mutex) { static_cast<Mutex*>(mutex)->unlock(); },
      [](void* mutex) {
        // A recursive mutex knows its owner by a number that the thread no longer has in the child.
        if constexpr (std::is_same_v<Mutex, std::recursive_mutex>) new (mutex) Mutex;
        else static_cast<Mutex*>(mutex)->unlock();
      },
  };
  ForkEntry entry_;
};

using ForkSafeMutex = ForkSafe<std::mutex>;
using ForkSafeRecursiveMutex = ForkSafe<std::recursive_mutex>;

}  // namespace pellucid
