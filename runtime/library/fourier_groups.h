// Groups of lines that are transformed together: their scratch memory, and how threads share them.
#pragma once

#include <algorithm>

#include "core/thread_pool.h"
#include "library/fourier_lanes.h"
#include "library/workspace.h"

namespace pellucid::fourier {

constexpr int64_t kLongest = 4096;  // of lines in lanes: longer ones exceed the cache

// Scratch memory for passes over `length` elements.
template <class T>
class Passes {
 public:
  explicit Passes(int64_t length) : length_(length), memory_(2 * length * 2 * kLanes<T> + kLanes<T>) {}
  Complexes<T>* first() const {
    const auto address = reinterpret_cast<uintptr_t>(static_cast<T*>(memory_));
    return reinterpret_cast<Complexes<T>*>((address + kVectorBytes - 1) / kVectorBytes * kVectorBytes);
  }
  Complexes<T>* second() const { return first() + length_; }

 private:
  int64_t length_;
  Workspace<T> memory_;
};

// Runs `body(first, last)` over ranges of units of `work` numbers each, split by the sizes alone.
template <class Body>
void share(int64_t units, int64_t work, Body&& body) {
  const int64_t step = std::max<int64_t>(1, kParallelGrain / std::max<int64_t>(1, work));
  parallel_blocks((units + step - 1) / step,
                  [&](int64_t block) { body(block * step, std::min(units, (block + 1) * step)); });
}

}  // namespace pellucid::fourier
