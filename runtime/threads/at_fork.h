// Handlers of forks.
#pragma once

#include <pthread.h>

#include <new>

namespace pellucid {

inline void at_fork(void (*before)(), void (*in_parent)(), void (*in_child)()) {
  if (pthread_atfork(before, in_parent, in_child) != 0) throw std::bad_alloc();  // its only failure
}

}  // namespace pellucid
