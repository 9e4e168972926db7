// The lock under which what an op remembers is decoded and extended: its plans, derivatives and element functions.
#pragma once

#include "threads/fork_safe_mutex.h"

namespace pellucid {

// One for all ops: a fork takes it, and calls take it only at their first use of a key. Recursive, because decoding
// what one op remembers may define another op. Tracing happens without it.
extern ForkSafeRecursiveMutex filling;

}  // namespace pellucid
