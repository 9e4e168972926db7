// A refused allocation on demand, so that tests can walk through every place that may run out of memory.
#pragma once

#include <cstdint>

namespace pellucid {

// The `number`-th allocation of any thread from now on fails once, as if the system had
// no memory; 0 cancels. While it is pending every block takes the allocator's slow path.
void fail_allocation(int64_t number);

}  // namespace pellucid
