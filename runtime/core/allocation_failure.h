// Fails one allocation on demand, so that tests can exercise every out-of-memory path.
#pragma once

#include <cstdint>

namespace pellucid {

// The `number`-th allocation from now on, counted over all threads, fails once as if the system were out of
// memory; 0 cancels. While a failure is pending, every block takes the allocator's slow path.
void fail_allocation(int64_t number);

}  // namespace pellucid
