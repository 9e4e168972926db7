// The caching allocator: size classes, a free list per thread and class, and one shared cache behind them.
//
// Storages, tensors and backward nodes are allocated here. Blocks are 64-byte aligned. A freed block of up to
// kThreadCacheLimit bytes goes to the freeing thread's list; larger blocks and overflow go to the shared cache,
// and what exceeds its limit returns to the base allocator. Per-thread lists need no locks; when a thread ends,
// its blocks move to the shared cache. Blocks above kListLimit are parts of large segments (core/large_blocks.h).
// Statistics are summed over the threads on request.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/thread_state.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace pellucid {

// Size classes: 64-byte steps up to 4 KiB, then four per power of two up to 1 MiB, all with free lists; above
// that, 32 per power of two up to 1 TiB.
constexpr int kSmallClasses = 64;
constexpr int kListStepsLog2 = 2, kLargeStepsLog2 = 5;  // per power of two
constexpr size_t kThreadCacheLimit = 256 * 1024;        // bytes of one block
constexpr int kThreadClasses = kSmallClasses + (6 << kListStepsLog2);
constexpr size_t kListLimit = 1024 * 1024;
constexpr int kListClasses = kSmallClasses + (8 << kListStepsLog2);
constexpr int kNumSizeClasses = kListClasses + (20 << kLargeStepsLog2);

// The classes from `first` on, which start above 2**`start` bytes.
constexpr int class_in_steps(size_t nbytes, int first, int start, int steps_log2) {
  const int log2 = 63 - std::countl_zero(nbytes - 1);
  const int step = static_cast<int>((nbytes - 1) >> (log2 - steps_log2)) & ((1 << steps_log2) - 1);
  return first + ((log2 - start) << steps_log2) + step;
}
constexpr size_t bytes_in_steps(int index, int start, int steps_log2) {
  const int doubling = index >> steps_log2, step = index & ((1 << steps_log2) - 1);
  return static_cast<size_t>((1 << steps_log2) + 1 + step) << (start + doubling - steps_log2);
}
constexpr int size_class(size_t nbytes) {
  if (nbytes <= 4096) return nbytes ? static_cast<int>((nbytes + 63) / 64) - 1 : 0;
  if (nbytes <= kListLimit) return class_in_steps(nbytes, kSmallClasses, 12, kListStepsLog2);
  return class_in_steps(nbytes, kListClasses, 20, kLargeStepsLog2);
}
constexpr size_t class_bytes(int size_class) {
  if (size_class < kSmallClasses) return static_cast<size_t>(size_class + 1) * 64;
  if (size_class < kListClasses) return bytes_in_steps(size_class - kSmallClasses, 12, kListStepsLog2);
  return bytes_in_steps(size_class - kListClasses, 20, kLargeStepsLog2);
}
static_assert(class_bytes(kThreadClasses - 1) == kThreadCacheLimit);
static_assert(class_bytes(kListClasses - 1) == kListLimit && size_class(kListLimit + 1) == kListClasses);
static_assert(class_bytes(size_class(4097)) == 5120 && size_class(5121) == size_class(4097) + 1);

struct FreeBlock {
  FreeBlock* next;
};

struct AllocatorPool {
  FreeBlock* free[kThreadClasses] = {};
  uint32_t count[kThreadClasses] = {};
  int64_t allocated_bytes = 0;  // negative if the thread freed more than it allocated
  int64_t peak_allocated_bytes = 0;
  int64_t num_allocations = 0;  // since the start of the process
  int64_t num_frees = 0;
  uint32_t trim_epoch = 0;  // the last empty_cache that this thread has applied
  AllocatorPool* next_registered = nullptr;
};

// The source of memory. `allocate` returns null when it has none left; alignment is at least 64 bytes.
struct BaseAllocator {
  void* (*allocate)(size_t nbytes);
  void (*release)(void* block, size_t nbytes);
  void (*discard)(void* part, size_t nbytes) = nullptr;  // lets the contents of a part of a block go
  size_t segment_bytes = 0;                              // minimum size of a segment requested for large blocks
};
BaseAllocator set_base_allocator(BaseAllocator allocator);  // returns the previous one; empties the caches first

// Called, while set, for every block allocated (`taken`) or freed; the memory history and snapshots use it.
using AllocatorHook = void (*)(void* block, size_t nbytes, bool taken);
void set_allocator_hook(AllocatorHook hook);
// Whether allocations of two blocks (allocate_two) avoid their fast path, because storages are being recorded.
void divert_pairs(bool on);

// The hook's address; without a hook, kPairsDiverted if pairs are diverted, else 0.
constexpr uintptr_t kPairsDiverted = 1;
extern std::atomic<uintptr_t> allocator_state;
inline bool has_allocator_hook() { return allocator_state.load(std::memory_order_relaxed) > kPairsDiverted; }

struct AllocatorStatistics {
  int64_t allocated_bytes = 0;       // in live blocks, rounded to their class
  int64_t peak_allocated_bytes = 0;  // sum of the threads' peaks: an upper bound on the true peak
  int64_t reserved_bytes = 0;        // taken from the base allocator; for segments, only the bytes used so far
  int64_t peak_reserved_bytes = 0;
  int64_t num_allocations = 0;
  int64_t num_frees = 0;
  int64_t num_base_allocations = 0;
  int64_t num_out_of_memory = 0;
};
AllocatorStatistics allocator_statistics();
// Resets the peaks to what is live and reserved now; a thread that is allocating at the same time may miss it.
void reset_allocator_peaks();
// Returns cached blocks to the base allocator. Other threads' lists follow at their next slow path.
void empty_cache();
// The most bytes that the shared cache may hold (default: a quarter of the machine's memory).
void set_cache_limit(size_t nbytes);

// The slow path: the list is empty or full, the thread has no pool, a hook is set, or the block is too large.
void* allocate_block_slow(size_t nbytes, int size_class);  // raises OutOfMemory
void free_block_slow(void* block, int size_class) noexcept;
// How many blocks of one class a thread may cache: 2 MiB of each class, at least 16 blocks, at most 1024.
constexpr uint32_t thread_cap(int size_class) {
  const size_t blocks = (size_t{2} << 20) / class_bytes(size_class);
  return blocks > 1024 ? 1024 : blocks < 16 ? 16 : static_cast<uint32_t>(blocks);
}
struct ThreadCaps {
  uint16_t blocks[kThreadClasses];
  constexpr ThreadCaps() : blocks() {
    for (int i = 0; i < kThreadClasses; ++i) blocks[i] = static_cast<uint16_t>(thread_cap(i));
  }
};
inline constexpr ThreadCaps kThreadCaps;

// Cached blocks are poisoned for AddressSanitizer, except for the link, which only the lists touch.
inline void poison_block([[maybe_unused]] void* block, [[maybe_unused]] size_t nbytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(static_cast<char*>(block) + sizeof(FreeBlock), nbytes - sizeof(FreeBlock));
#endif
}
inline void unpoison_block([[maybe_unused]] void* block, [[maybe_unused]] size_t nbytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(block, nbytes);
#endif
}

// A block from this thread's lists, or null.
inline void* take_from_thread(int klass) {
  AllocatorPool* pool = thread_state.pool;
  if (!pool || klass >= kThreadClasses) return nullptr;
  FreeBlock* block = pool->free[klass];
  if (!block) [[unlikely]]
    return nullptr;
  pool->free[klass] = block->next;
  --pool->count[klass];
  ++pool->num_allocations;
  pool->allocated_bytes += static_cast<int64_t>(class_bytes(klass));
  if (pool->allocated_bytes > pool->peak_allocated_bytes) pool->peak_allocated_bytes = pool->allocated_bytes;
  unpoison_block(block, class_bytes(klass));
  return block;
}

// `klass` is size_class(nbytes); the caller must remember it to free the block.
inline void* allocate_block(size_t nbytes, int klass) {
  if (!has_allocator_hook()) [[likely]]
    if (void* block = take_from_thread(klass)) [[likely]]
      return block;
  return allocate_block_slow(nbytes, klass);
}
// False if this thread's lists do not take blocks of this class, or the list is full.
inline bool give_to_thread(void* block, int klass) noexcept {
  AllocatorPool* pool = thread_state.pool;
  if (!pool || klass >= kThreadClasses || pool->count[klass] >= kThreadCaps.blocks[klass]) [[unlikely]]
    return false;
  auto* link = static_cast<FreeBlock*>(block);
  link->next = pool->free[klass];
  pool->free[klass] = link;
  ++pool->count[klass];
  ++pool->num_frees;
  pool->allocated_bytes -= static_cast<int64_t>(class_bytes(klass));
  poison_block(block, class_bytes(klass));
  return true;
}
inline void free_block(void* block, int klass) noexcept {
  if (!has_allocator_hook()) [[likely]]
    if (give_to_thread(block, klass)) [[likely]]
      return;
  free_block_slow(block, klass);
}

// A small tensor allocates and frees two blocks together, with one check of the lists for both. False: nothing
// was done.
struct TwoBlocks {
  void *first, *second;
};
inline bool allocate_two(int first_class, int second_class, TwoBlocks& blocks) {
  AllocatorPool* pool = thread_state.pool;
  if (!pool || allocator_state.load(std::memory_order_relaxed)) [[unlikely]]
    return false;
  FreeBlock* first = pool->free[first_class];
  if (!first) [[unlikely]]
    return false;
  FreeBlock* second = first_class == second_class ? first->next : pool->free[second_class];
  if (!second) [[unlikely]]
    return false;
  pool->free[first_class] = first->next;
  pool->free[second_class] = second->next;
  --pool->count[first_class];
  --pool->count[second_class];
  pool->num_allocations += 2;
  pool->allocated_bytes += static_cast<int64_t>(class_bytes(first_class) + class_bytes(second_class));
  if (pool->allocated_bytes > pool->peak_allocated_bytes) pool->peak_allocated_bytes = pool->allocated_bytes;
  unpoison_block(first, class_bytes(first_class));
  unpoison_block(second, class_bytes(second_class));
  blocks = {first, second};
  return true;
}
inline bool free_two(int first_class, int second_class, TwoBlocks blocks) noexcept {
  AllocatorPool* pool = thread_state.pool;
  if (!pool || allocator_state.load(std::memory_order_relaxed)) [[unlikely]]
    return false;
  // A list may exceed its cap by one block here.
  if (pool->count[first_class] >= kThreadCaps.blocks[first_class] ||
      pool->count[second_class] >= kThreadCaps.blocks[second_class]) [[unlikely]]
    return false;
  const auto put = [pool](void* block, int klass) {
    auto* link = static_cast<FreeBlock*>(block);
    link->next = pool->free[klass];
    pool->free[klass] = link;
    ++pool->count[klass];
    poison_block(block, class_bytes(klass));
  };
  put(blocks.first, first_class);
  put(blocks.second, second_class);
  pool->num_frees += 2;
  pool->allocated_bytes -= static_cast<int64_t>(class_bytes(first_class) + class_bytes(second_class));
  return true;
}

// Blocks whose size is a compile-time constant.
template <size_t nbytes>
void* allocate_fixed() {
  constexpr int klass = size_class(nbytes);
  return allocate_block(nbytes, klass);
}
template <size_t nbytes>
void free_fixed(void* block) noexcept {
  constexpr int klass = size_class(nbytes);
  free_block(block, klass);
}

}  // namespace pellucid
