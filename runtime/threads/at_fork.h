// Handlers of forks, registered when the runtime is loaded: as a variable of namespace scope.
#pragma once

#include <pthread.h>

#include <new>

namespace pellucid {

struct AtFork {
  AtFork(void (*before)(), void (*in_parent)(), void (*in_child)()) {
    if (pthread_atfork(before, in_parent, in_child) != 0) throw std::bad_alloc();  // its only failure
  }
};

}  // namespace pellucid
