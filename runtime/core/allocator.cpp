#include "core/allocator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "core/allocation_failure.h"
#include "core/error.h"
#include "core/large_blocks.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {

std::atomic<uintptr_t> allocator_state{0};
static std::atomic<AllocatorHook> installed_hook{nullptr};
static std::atomic<bool> pairs_diverted{false};

static AllocatorHook current_hook() { return installed_hook.load(std::memory_order_acquire); }

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
// Segments cost address space only: the system gives pages when they are first written.
constexpr size_t kSegment = size_t{256} << 20;

void* allocate_from_system(size_t nbytes) {
  if (nbytes < 2 * kHugePage) return std::aligned_alloc(64, (nbytes + 63) & ~size_t{63});
  void* block = std::aligned_alloc(kHugePage, (nbytes + kHugePage - 1) & ~(kHugePage - 1));
  if (block) madvise(block, nbytes, MADV_HUGEPAGE);
  return block;
}
void release_to_system(void* block, size_t) { std::free(block); }
void discard_to_system(void* part, size_t nbytes) {
  constexpr uintptr_t kPage = 4096;
  const uintptr_t start = (reinterpret_cast<uintptr_t>(part) + kPage - 1) & ~(kPage - 1);
  const uintptr_t end = (reinterpret_cast<uintptr_t>(part) + nbytes) & ~(kPage - 1);
  if (start < end) madvise(reinterpret_cast<void*>(start), end - start, MADV_DONTNEED);
}

FORK_SAFE ForkSafeMutex mutex;

// Blocks outside every thread's lists, and the state that all threads share. Never destroyed: tensors may outlive
// static destructors.
struct SharedCache {
  BaseAllocator base{allocate_from_system, release_to_system, discard_to_system, kSegment};
  FreeBlock* free[kListClasses] = {};
  LargeBlocks large;
  size_t cached_bytes = 0;
  size_t limit;
  AllocatorPool* pools = nullptr;
  AllocatorPool ended;         // totals of threads that have ended
  AllocatorStatistics counts;  // only the fields of the base allocator are used
  std::atomic<uint32_t> trim_epoch{0};

  SharedCache() {
    const long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
    limit = pages > 0 ? static_cast<size_t>(pages) * static_cast<size_t>(page_size) / 4 : size_t{1} << 30;
  }
};

SharedCache& shared() {
  static auto* cache = new SharedCache;
  return *cache;
}

void count_reserved(SharedCache& cache, int64_t nbytes) {
  AllocatorStatistics& counts = cache.counts;
  counts.reserved_bytes += nbytes;
  counts.peak_reserved_bytes = std::max(counts.peak_reserved_bytes, counts.reserved_bytes);
}

void release_to_base(SharedCache& cache, void* block, size_t nbytes) {
  unpoison_block(block, nbytes);
  count_reserved(cache, -static_cast<int64_t>(nbytes));
  cache.base.release(block, nbytes);
}

void trim_large(SharedCache& cache) {
  const size_t released = cache.large.trim(cache.base.release, cache.base.discard);
  count_reserved(cache, -static_cast<int64_t>(released));
  cache.cached_bytes -= released;
}

void cache_or_release(SharedCache& cache, void* block, int klass) {
  const size_t nbytes = class_bytes(klass);
  if (klass >= kListClasses) {
    cache.cached_bytes += cache.large.give_back(block);
    if (cache.cached_bytes > cache.limit) trim_large(cache);
    return;
  }
  if (cache.cached_bytes + nbytes > cache.limit) return release_to_base(cache, block, nbytes);
  auto* link = static_cast<FreeBlock*>(block);
  link->next = cache.free[klass];
  cache.free[klass] = link;
  cache.cached_bytes += nbytes;
  poison_block(block, nbytes);
}

void* take_large(SharedCache& cache, size_t nbytes, bool any_part) {
  size_t reused = 0;
  void* block = cache.large.take(nbytes, &reused, any_part);
  if (!block) return nullptr;
  cache.cached_bytes -= reused;
  count_reserved(cache, static_cast<int64_t>(nbytes - reused));
  return block;
}

void* take_from_shared(SharedCache& cache, int klass) {
  if (klass >= kListClasses) return take_large(cache, class_bytes(klass), cache.base.segment_bytes == 0);
  FreeBlock* block = cache.free[klass];
  if (!block) return nullptr;
  cache.free[klass] = block->next;
  cache.cached_bytes -= class_bytes(klass);
  unpoison_block(block, class_bytes(klass));
  return block;
}

void empty_shared(SharedCache& cache) {
  for (int klass = 0; klass < kListClasses; ++klass)
    while (void* block = take_from_shared(cache, klass)) release_to_base(cache, block, class_bytes(klass));
  trim_large(cache);
}

// Moves one thread's lists to the shared cache, or returns them to the base allocator.
void drain(SharedCache& cache, AllocatorPool& pool, bool keep) {
  for (int klass = 0; klass < kThreadClasses; ++klass) {
    while (FreeBlock* block = pool.free[klass]) {
      pool.free[klass] = block->next;
      if (keep) cache_or_release(cache, block, klass);
      else release_to_base(cache, block, class_bytes(klass));
    }
    pool.count[klass] = 0;
  }
}

void add_counts(AllocatorPool& to, const AllocatorPool& from) {
  to.allocated_bytes += from.allocated_bytes;
  to.peak_allocated_bytes += from.peak_allocated_bytes;
  to.num_allocations += from.num_allocations;
  to.num_frees += from.num_frees;
}

enum class PoolLife : uint8_t { Unborn, Live, Ended };
thread_local PoolLife pool_life = PoolLife::Unborn;

struct PoolOwner {
  ~PoolOwner() {
    AllocatorPool* pool = thread_state.pool;
    thread_state.pool = nullptr;
    pool_life = PoolLife::Ended;
    if (!pool) return;
    const std::lock_guard lock(mutex);
    SharedCache& cache = shared();
    drain(cache, *pool, true);
    add_counts(cache.ended, *pool);
    for (AllocatorPool** link = &cache.pools; *link; link = &(*link)->next_registered)
      if (*link == pool) {
        *link = pool->next_registered;
        break;
      }
    delete pool;
  }
};

// Null once the thread is ending: its last blocks go straight to the shared cache.
AllocatorPool* thread_pool_of_blocks() {
  if (thread_state.pool || pool_life == PoolLife::Ended) return thread_state.pool;
  static thread_local PoolOwner owner;
  static_cast<void>(owner);
  auto* pool = new AllocatorPool;
  const std::lock_guard lock(mutex);
  SharedCache& cache = shared();
  pool->next_registered = cache.pools;
  pool->trim_epoch = cache.trim_epoch.load(std::memory_order_relaxed);
  cache.pools = pool;
  pool_life = PoolLife::Live;
  return thread_state.pool = pool;
}

void follow_trim(SharedCache& cache, AllocatorPool* pool) {
  const uint32_t epoch = cache.trim_epoch.load(std::memory_order_relaxed);
  if (!pool || pool->trim_epoch == epoch) return;
  pool->trim_epoch = epoch;
  drain(cache, *pool, false);
}

// Allocates a whole segment if the system has that much address space, else the block alone.
void* allocate_large_from_base(SharedCache& cache, size_t nbytes) {
  for (const size_t segment_bytes : {std::max(nbytes, cache.base.segment_bytes), nbytes}) {
    if (void* segment = cache.base.allocate(segment_bytes)) {
      cache.large.add_segment(segment, segment_bytes);
      return take_large(cache, nbytes, false);
    }
    if (segment_bytes == nbytes) break;
  }
  return take_large(cache, nbytes, true);
}

void* allocate_from_base(SharedCache& cache, int klass) {
  const size_t nbytes = class_bytes(klass);
  void* block = klass < kListClasses ? cache.base.allocate(nbytes) : allocate_large_from_base(cache, nbytes);
  if (!block) return nullptr;
  ++cache.counts.num_base_allocations;
  if (klass < kListClasses) count_reserved(cache, static_cast<int64_t>(nbytes));
  return block;
}

[[noreturn]] void raise_out_of_memory(size_t nbytes) {
  raise(ErrorKind::OutOfMemory,
        "DefaultCPUAllocator: can't allocate memory: there is not enough memory for %zu bytes (%.2f GiB).\n"
        "Everything computed so far is intact; free tensors or use smaller ones.",
        nbytes, static_cast<double>(nbytes) / (1 << 30));
}

std::atomic<int64_t> blocks_until_failure{0};  // 0: no failure is pending

void ignore_event(void*, size_t, bool) {}

bool is_to_fail() {
  return blocks_until_failure.load(std::memory_order_relaxed) > 0 && blocks_until_failure.fetch_sub(1) == 1;
}

}  // namespace

void fail_allocation(int64_t number) {
  blocks_until_failure = number;
  set_allocator_hook(number ? ignore_event : nullptr);  // a hook takes allocations off the fast path
}

void* allocate_block_slow(size_t nbytes, int klass) {
  if (klass >= kNumSizeClasses || is_to_fail()) raise_out_of_memory(nbytes);
  if (AllocatorHook hook = current_hook())
    if (void* block = take_from_thread(klass)) {
      hook(block, class_bytes(klass), true);
      return block;
    }
  AllocatorPool* pool = thread_pool_of_blocks();
  const size_t rounded = class_bytes(klass);
  void* block = nullptr;
  {
    const std::lock_guard lock(mutex);
    SharedCache& cache = shared();
    follow_trim(cache, pool);
    block = take_from_shared(cache, klass);
    if (!block) block = allocate_from_base(cache, klass);
    if (!block) {  // the caches may hold the memory that the system lacks
      if (pool) drain(cache, *pool, false);
      empty_shared(cache);
      cache.trim_epoch.fetch_add(1, std::memory_order_relaxed);
      block = allocate_from_base(cache, klass);
      if (!block) ++cache.counts.num_out_of_memory;
    }
    if (block) {
      AllocatorPool& counts = pool ? *pool : cache.ended;
      ++counts.num_allocations;
      counts.allocated_bytes += static_cast<int64_t>(rounded);
      counts.peak_allocated_bytes = std::max(counts.peak_allocated_bytes, counts.allocated_bytes);
    }
  }
  if (!block) raise_out_of_memory(nbytes);
  if (AllocatorHook hook = current_hook()) hook(block, rounded, true);
  return block;
}

void free_block_slow(void* block, int klass) noexcept {
  const size_t rounded = class_bytes(klass);
  if (AllocatorHook hook = current_hook()) {
    hook(block, rounded, false);
    if (give_to_thread(block, klass)) return;
  }
  AllocatorPool* pool = thread_pool_of_blocks();
  const std::lock_guard lock(mutex);
  SharedCache& cache = shared();
  follow_trim(cache, pool);
  AllocatorPool& counts = pool ? *pool : cache.ended;
  ++counts.num_frees;
  counts.allocated_bytes -= static_cast<int64_t>(rounded);
  if (pool && klass < kThreadClasses && pool->count[klass] < kThreadCaps.blocks[klass]) {
    auto* link = static_cast<FreeBlock*>(block);
    link->next = pool->free[klass];
    pool->free[klass] = link;
    ++pool->count[klass];
    poison_block(block, rounded);
    return;
  }
  cache_or_release(cache, block, klass);
}

BaseAllocator set_base_allocator(BaseAllocator allocator) {
  const std::lock_guard lock(mutex);
  SharedCache& cache = shared();
  // A block must return to the allocator it came from, so the allocator can change only while no block is live.
  if (AllocatorPool* pool = thread_state.pool) drain(cache, *pool, false);
  empty_shared(cache);
  if (cache.counts.reserved_bytes != 0)
    raise(ErrorKind::Runtime,
          "the base allocator cannot be replaced while %lld bytes are in use; install it before the first tensor",
          static_cast<long long>(cache.counts.reserved_bytes));
  return std::exchange(cache.base, allocator);
}

static void publish_state() {
  const auto address = reinterpret_cast<uintptr_t>(current_hook());
  allocator_state.store(address ? address : pairs_diverted ? kPairsDiverted : 0, std::memory_order_release);
}

void set_allocator_hook(AllocatorHook hook) {
  installed_hook.store(hook, std::memory_order_release);
  publish_state();
}

void divert_pairs(bool on) {
  pairs_diverted = on;
  publish_state();
}

AllocatorStatistics allocator_statistics() {
  const std::lock_guard lock(mutex);
  SharedCache& cache = shared();
  AllocatorPool sum = cache.ended;
  for (const AllocatorPool* pool = cache.pools; pool; pool = pool->next_registered) add_counts(sum, *pool);
  AllocatorStatistics result = cache.counts;
  result.allocated_bytes = sum.allocated_bytes;
  result.peak_allocated_bytes = sum.peak_allocated_bytes;
  result.num_allocations = sum.num_allocations;
  result.num_frees = sum.num_frees;
  return result;
}

void reset_allocator_peaks() {
  const std::lock_guard lock(mutex);
  SharedCache& cache = shared();
  cache.ended.peak_allocated_bytes = cache.ended.allocated_bytes;
  for (AllocatorPool* pool = cache.pools; pool; pool = pool->next_registered)
    pool->peak_allocated_bytes = pool->allocated_bytes;
  cache.counts.peak_reserved_bytes = cache.counts.reserved_bytes;
}

std::vector<LargeBlocks::Listed> list_large_blocks() {
  const std::lock_guard lock(mutex);
  SharedCache& cache = shared();
  return cache.large.list_parts();
}

void empty_cache() {
  const std::lock_guard lock(mutex);
  SharedCache& cache = shared();
  const uint32_t epoch = cache.trim_epoch.fetch_add(1, std::memory_order_relaxed) + 1;
  if (AllocatorPool* pool = thread_state.pool) {
    drain(cache, *pool, false);
    pool->trim_epoch = epoch;
  }
  empty_shared(cache);
}

void set_cache_limit(size_t nbytes) {
  const std::lock_guard lock(mutex);
  SharedCache& cache = shared();
  cache.limit = nbytes;
  if (cache.cached_bytes > nbytes) empty_shared(cache);
}

}  // namespace pellucid
