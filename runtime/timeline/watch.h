// Who watches: one word that every fast path tests, so that watching costs nothing while nobody does.
#pragma once

#include <atomic>
#include <cstdint>

namespace pellucid {

enum Watch : uint32_t {
  kWatchObservers = 1,  // dispatch observers: calls take the dispatcher's long way (core/dispatcher.h)
  kWatchCalls = 2,      // the timeline records calls, nodes, ranges and what else takes time
  kWatchMemory = 4,     // and storages as they are made and freed
  kWatchFacts = 8,      // and the arguments of calls
  kWatchLines = 16,     // and which line of Python called
  kWatchSteps = 32,     // and the steps of plans, and each thread's share of a parallel region
  kWatchModules = 64,   // and calls of modules
  kWatchBlocks = 128,   // and the allocator's blocks
  kWatchStacks = 256,   // and all of Python's frames, besides the line outside of the package
};

extern std::atomic<uint32_t> watched;

inline bool is_watched(uint32_t what) { return watched.load(std::memory_order_relaxed) & what; }

}  // namespace pellucid
