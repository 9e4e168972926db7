#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "../sanitizers/check.h"
#include "threads/fork_safe_mutex.h"

using namespace pellucid;

namespace {

// A child that waits for a mutex is killed by its alarm.
bool exits_normally_in_child(void (*work)()) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    work();
    _exit(0);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

FORK_SAFE ForkSafeMutex pair[2];
FORK_SAFE ForkSafeRecursiveMutex recursive;
int both = 0, equal = 0;  // the holder of both mutexes of the pair adds one to each

void hold_everything() {
  for (ForkSafeMutex& mutex : pair) mutex.lock();
  recursive.lock();
  recursive.lock();
  if (both != equal) _exit(1);
}

}  // namespace

TEST(a_child_finds_mutexes_of_other_threads_unlocked_and_their_state_consistent) {
  take_mutexes_at_forks();
  std::atomic<bool> stops{false};
  std::thread writer([&] {
    while (!stops) {
      {
        const std::lock_guard first(pair[1]), second(pair[0]);  // not in the order in which they were made
        const std::lock_guard again(recursive);
        ++both;
        std::this_thread::yield();
        ++equal;
      }
      std::this_thread::yield();
    }
  });
  for (int k = 0; k < 50; ++k) CHECK(exits_normally_in_child(hold_everything));
  stops = true;
  writer.join();
  CHECK(pair[0].try_lock() && pair[1].try_lock() && both == equal);
  for (ForkSafeMutex& mutex : pair) mutex.unlock();
}

TEST(forks_of_several_threads_do_not_wait_for_each_other_forever) {
  take_mutexes_at_forks();
  std::atomic<int> normal{0};
  const auto fork_often = [&] {
    for (int k = 0; k < 20; ++k) normal += exits_normally_in_child(hold_everything);
  };
  std::thread other(fork_often);
  fork_often();
  other.join();
  CHECK(normal == 40);
}
