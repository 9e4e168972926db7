// The caching allocator: blocks by size class, free lists per thread, one shared cache behind them.
//
// Storages, tensors and backward nodes take their memory here. A block is 64-byte aligned. Blocks up
// to kThreadCacheLimit go to the freeing thread's list, larger ones and overflow to the shared cache,
// and what that does not take to the base allocator. Lists are per thread without locks; a thread's
// blocks move to the shared cache when it ends. Blocks above kListLimit are parts of large segments
// (core/large_blocks.h). Statistics are summed over threads on request.
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

// Classes: 64-byte steps to 4 KiB, then four steps per power of two to 1 MiB, whose blocks are in
// lists, and 32 up to 1 TiB.
constexpr int kSmallClasses = 64;
constexpr int kListStepsLog2 = 2, kLargeStepsLog2 = 5;  // per power of two
constexpr size_t kThreadCacheLimit = 256 * 1024;        // bytes of one block
constexpr int kThreadClasses = kSmallClasses + (6 << kListStepsLog2);
constexpr size_t kListLimit = 1024 * 1024;
constexpr int kListClasses = kSmallClasses + (8 << kListStepsLog2);
constexpr int kNumSizeClasses = kListClasses + (20 << kLargeStepsLog2);

// The classes from `first` on, which begin above 2**`start` bytes.
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
  int64_t allocated_bytes = 0;  // may go negative: blocks freed here but taken elsewhere
  int64_t peak_allocated_bytes = 0;
  int64_t num_allocations = 0;  // ever
  int64_t num_frees = 0;
  uint32_t trim_epoch = 0;  // the last empty_cache this thread has followed
  AllocatorPool* next_registered = nullptr;
};

// Where blocks come from. `allocate` returns null when it has none; alignment is at least 64 bytes.
struct BaseAllocator {
  void* (*allocate)(size_t nbytes);
  void (*release)(void* block, size_t nbytes);
  void (*discard)(void* part, size_t nbytes) = nullptr;  // a part of a block whose contents may go
  size_t segment_bytes = 0;                              // the smallest segment to request for large blocks
};
BaseAllocator set_base_allocator(BaseAllocator allocator);  // returns the previous one; empties the caches first

// Called for every block taken (`taken`) or given back while set; history and snapshots hang here.
using AllocatorHook = void (*)(void* block, size_t nbytes, bool taken);
void set_allocator_hook(AllocatorHook hook);
// Whether pairs of blocks (allocate_two) go past their fast path, because storages are recorded.
void divert_pairs(bool on);

// The hook's address, or 0; or kPairsDiverted where there is none but pairs are diverted.
constexpr uintptr_t kPairsDiverted = 1;
extern std::atomic<uintptr_t> allocator_state;
inline bool has_allocator_hook() { return allocator_state.load(std::memory_order_relaxed) > kPairsDiverted; }

struct AllocatorStatistics {
  int64_t allocated_bytes = 0;       // in live blocks, rounded to their class
  int64_t peak_allocated_bytes = 0;  // sum of the threads' peaks: an upper bound of the true peak
  int64_t reserved_bytes = 0;        // taken from the base allocator; of segments, what was used
  int64_t peak_reserved_bytes = 0;
  int64_t num_allocations = 0;
  int64_t num_frees = 0;
  int64_t num_base_allocations = 0;
  int64_t num_out_of_memory = 0;
};
AllocatorStatistics allocator_statistics();
// Peaks begin again at what is live and reserved; a thread that allocates meanwhile may miss it.
void reset_allocator_peaks();
// Gives cached blocks back. Other threads' lists follow at their next slow path.
void empty_cache();
// Bytes that the shared cache keeps at most (default: a quarter of the machine's memory).
void set_cache_limit(size_t nbytes);

// Out of line: list empty or full, no pool, hook set, block too large.
void* allocate_block_slow(size_t nbytes, int size_class);  // raises OutOfMemory
void free_block_slow(void* block, int size_class) noexcept;
// How many blocks of one class a thread keeps: 2 MiB of each, at least 16, at most 1024.
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

// A cached block is poisoned for AddressSanitizer except for its link, which only lists touch.
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

// A block of this thread's lists; null where they have none.
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

// `klass` from size_class(nbytes): the caller keeps it to free the block.
inline void* allocate_block(size_t nbytes, int klass) {
  if (!has_allocator_hook()) [[likely]]
    if (void* block = take_from_thread(klass)) [[likely]]
      return block;
  return allocate_block_slow(nbytes, klass);
}
// False: it is none for this thread's lists, or they are full.
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

// Two blocks, as small tensors take and give them: one look at the lists for both. False: nothing was done.
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
  // Lists may grow past their caps by one here.
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

// Blocks of a size known to the compiler.
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
