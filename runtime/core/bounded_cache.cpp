#include "core/bounded_cache.h"

#include <bit>
#include <cstdint>

#include "threads/fork_safe_mutex.h"

namespace pellucid {
namespace {

constexpr int kBits = 2;
FORK_SAFE ForkSafeMutex stripes[1 << kBits];

}  // namespace

std::mutex& stripe_of(const void* cache) {
  return stripes[std::bit_cast<uintptr_t>(cache) * 0x9E3779B97F4A7C15 >> (64 - kBits)];
}

}  // namespace pellucid
