// The watch word: one word that every fast path tests, so that watching costs nothing while nobody watches.
#pragma once

#include <atomic>
#include <cstdint>

namespace pellucid {

enum Watch : uint32_t {
  kWatchObservers = 1,  // dispatch observers: calls take the dispatcher's slow path (core/dispatcher.h)
  kWatchCalls = 2,      // the timeline records calls, nodes, ranges and other work
  kWatchMemory = 4,     // also storages as they are made and freed
  kWatchFacts = 8,      // also the arguments of calls
  kWatchLines = 16,     // also the Python line that made a call
  kWatchSteps = 32,     // also the steps of plans, and each thread's share of a parallel region
  kWatchModules = 64,   // also calls of modules
  kWatchBlocks = 128,   // also the allocator's blocks
  kWatchStacks = 256,   // also all Python frames, not only the line outside the package
  kWatchNotes = 512,    // also notes of ops that are implemented in Python, which then answer repeated calls too
  kWatchValues = 1024,  // anomaly mode examines every dispatched call's results (autograd/anomaly.h)
};
// Calls must be dispatched: no cache may run them.
constexpr uint32_t kWatchDispatches = kWatchObservers | kWatchValues;

extern std::atomic<uint32_t> watched;

inline bool is_watched(uint32_t what) { return watched.load(std::memory_order_relaxed) & what; }

}  // namespace pellucid
