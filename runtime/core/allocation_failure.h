// A refused allocation on demand, so that tests can walk through every place that may run out of memory.
#pragma once

#include <cstdint>

namespace pellucid {

// The `number`-th block that any thread asks for from now on is refused once, as if the system had
// none; 0 takes the order back. While it stands every block takes the allocator's slow path.
void fail_allocation(int64_t number);

}  // namespace pellucid
