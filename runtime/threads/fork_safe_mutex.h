// Mutexes that the child of a fork finds unlocked, and what they protect consistent.
//
// A fork first takes all of them, and releases them in both processes. It does so without an order: if a mutex is
// held, the forking thread releases those it has taken and tries again, so it cannot deadlock with threads that hold
// one and wait for another. It holds the GIL meanwhile, and os.fork also holds the import lock. So the holder of such
// a mutex must not wait for either, nor fork. Locking and unlocking cost the same as for the plain mutex.
//
// They are variables of namespace scope, declared with FORK_SAFE: few, constant-initialised, never destroyed, and found
// by the linker, which places them in one section. A static object that a function makes at its first call must be
// made under such a mutex: the child of a fork would wait forever for another thread that was making it.
//
// The other choice is to replace a mutex in the child (core/thread_pool.cpp), if the state it protects belongs to
// threads that the child does not have.
#pragma once

#include <mutex>
#include <type_traits>

// Begins the declaration of a ForkSafeMutex or an array of them.
#define FORK_SAFE [[gnu::section("fork_safe")]] constinit

namespace pellucid {

// Registers the handlers of forks, once. Called when the runtime is loaded, before other handlers are registered, so
// that these find the mutexes unlocked in the child.
void take_mutexes_at_forks();

// The beginning of each line of the section. Plain mutexes are all zeros.
struct ForkEntry {
  const bool is_recursive = false;
};

template <class Mutex>
struct alignas(64) ForkSafe : ForkEntry, Mutex {  // a cache line of its own
  constexpr ForkSafe() : ForkEntry{std::is_same_v<Mutex, std::recursive_mutex>} {
    static_assert(std::is_trivially_destructible_v<ForkSafe>, "threads may outlive the end of main");
    static_assert(sizeof(ForkSafe) == alignof(ForkSafe), "the section is read line by line");
  }
};

using ForkSafeMutex = ForkSafe<std::mutex>;
using ForkSafeRecursiveMutex = ForkSafe<std::recursive_mutex>;

}  // namespace pellucid
