#include <cstdlib>
#include <thread>

#include "../sanitizers/check.h"
#include "core/allocator.h"
#include "core/storage.h"
#include "core/tensor.h"

using namespace pellucid;

TEST(size_classes_cover_every_size_with_little_waste) {
  for (size_t nbytes = 1; nbytes < (size_t{1} << 34); nbytes += 1 + nbytes / 7) {
    const size_t rounded = class_bytes(size_class(nbytes));
    CHECK(rounded >= nbytes && rounded % 64 == 0);
    const size_t waste = nbytes <= 4096 ? 63 : nbytes <= kListLimit ? nbytes / 4 : nbytes / 32;
    CHECK(rounded - nbytes <= waste);
  }
}

TEST(a_freed_block_is_used_again_and_statistics_follow) {
  empty_cache();
  const AllocatorStatistics before = allocator_statistics();
  void* first = allocate_block(1000, size_class(1000));
  CHECK(reinterpret_cast<uintptr_t>(first) % 64 == 0);
  AllocatorStatistics now = allocator_statistics();
  CHECK(now.allocated_bytes - before.allocated_bytes == 1024 && now.num_allocations - before.num_allocations == 1);
  free_block(first, size_class(1000));
  CHECK(allocate_block(1024, size_class(1024)) == first);
  free_block(first, size_class(1024));
  now = allocator_statistics();
  CHECK(now.allocated_bytes == before.allocated_bytes && now.reserved_bytes - before.reserved_bytes == 1024);
  empty_cache();
  CHECK(allocator_statistics().reserved_bytes == before.reserved_bytes);
}

TEST(blocks_of_an_ended_thread_serve_others) {
  empty_cache();
  const int64_t live = allocator_statistics().allocated_bytes;
  void* block = nullptr;
  std::thread([&] {
    block = allocate_block(300, size_class(300));
    free_block(block, size_class(300));
  }).join();
  CHECK(allocator_statistics().allocated_bytes == live);
  CHECK(allocate_block(300, size_class(300)) == block);
  void* taken = block;
  std::thread([&] { free_block(taken, size_class(300)); }).join();  // freed where it was not taken
  CHECK(allocator_statistics().allocated_bytes == live);
}

TEST(large_blocks_of_any_size_share_memory_that_was_freed) {
  empty_cache();
  const int64_t before = allocator_statistics().reserved_bytes;
  constexpr size_t kMiB = size_t{1} << 20;
  const auto take = [](size_t nbytes) { return allocate_block(nbytes, size_class(nbytes)); };
  const auto give = [](void* block, size_t nbytes) { free_block(block, size_class(nbytes)); };
  void* first = take(5 * kMiB);
  void* second = take(3 * kMiB);
  void* kept = take(2 * kMiB);
  CHECK(allocator_statistics().reserved_bytes - before == static_cast<int64_t>(10 * kMiB));
  give(second, 3 * kMiB);
  give(first, 5 * kMiB);
  void* whole = take(8 * kMiB);  // what both left
  CHECK(whole == first && allocator_statistics().reserved_bytes - before == static_cast<int64_t>(10 * kMiB));
  give(whole, 8 * kMiB);
  empty_cache();  // the segment stays for the live block
  CHECK(allocator_statistics().reserved_bytes - before == static_cast<int64_t>(2 * kMiB));
  give(kept, 2 * kMiB);
  empty_cache();
  CHECK(allocator_statistics().reserved_bytes == before);
}

TEST(of_free_parts_of_one_size_the_one_with_pages_is_taken_first) {
  constexpr size_t kMiB = size_t{1} << 20, kSegment = 256 * kMiB;
  const auto take = [](size_t nbytes) { return allocate_block(nbytes, size_class(nbytes)); };
  const auto give = [](void* block, size_t nbytes) { free_block(block, size_class(nbytes)); };
  for (const bool small_first : {false, true}) {
    empty_cache();
    const int64_t before = allocator_statistics().reserved_bytes;
    const size_t sizes[] = {small_first ? 4 * kMiB : kSegment, small_first ? kSegment : 4 * kMiB};
    void* blocks[] = {take(sizes[0]), take(sizes[1])};
    for (const int k : {0, 1}) give(blocks[k], sizes[k]);
    void* again = take(kSegment);
    CHECK(allocator_statistics().reserved_bytes - before == static_cast<int64_t>(kSegment + 4 * kMiB));
    give(again, kSegment);
  }
  empty_cache();
}

TEST(only_a_segment_of_much_larger_blocks_is_left_whole) {
  constexpr size_t kMiB = size_t{1} << 20, kSegment = 256 * kMiB;
  const auto take = [](size_t nbytes) { return allocate_block(nbytes, size_class(nbytes)); };
  const auto give = [](void* block, size_t nbytes) { free_block(block, size_class(nbytes)); };
  empty_cache();
  const int64_t before = allocator_statistics().reserved_bytes;
  const auto is_reserved = [&](size_t nbytes) {
    return allocator_statistics().reserved_bytes - before == static_cast<int64_t>(nbytes);
  };
  for (int step = 0; step < 3; ++step) {  // 64 MiB in blocks of 2 MiB: every step is served by the same segment
    void* blocks[32];
    for (void*& block : blocks) block = take(2 * kMiB);
    for (void* block : blocks) give(block, 2 * kMiB);
    CHECK(is_reserved(64 * kMiB));
  }
  give(take(kSegment), kSegment);
  CHECK(is_reserved(kSegment));
  void* kept = take(2 * kMiB);  // in a segment of its own, so that the next large block finds its pages
  void* large = take(kSegment);
  CHECK(is_reserved(kSegment + 2 * kMiB));
  give(kept, 2 * kMiB);
  give(large, kSegment);
  empty_cache();
  CHECK(is_reserved(0));
}

TEST(large_blocks_above_the_limit_of_the_cache_go_back) {
  empty_cache();
  const int64_t before = allocator_statistics().reserved_bytes;
  set_cache_limit(size_t{4} << 20);
  constexpr size_t kBytes = size_t{3} << 20;
  void* blocks[3];
  for (void*& block : blocks) block = allocate_block(kBytes, size_class(kBytes));
  free_block(blocks[1], size_class(kBytes));
  CHECK(allocator_statistics().reserved_bytes - before == static_cast<int64_t>(3 * kBytes));
  free_block(blocks[0], size_class(kBytes));
  CHECK(allocator_statistics().reserved_bytes - before == static_cast<int64_t>(kBytes));
  free_block(blocks[2], size_class(kBytes));
  set_cache_limit(size_t{1} << 40);
  empty_cache();
  CHECK(allocator_statistics().reserved_bytes == before);
}

namespace {

bool memory_left = true;
int refusals = 0;

}  // namespace

TEST(out_of_memory_empties_the_caches_then_raises_and_loses_nothing) {
  empty_cache();
  const BaseAllocator before = set_base_allocator({
      [](size_t nbytes) -> void* {
        if (memory_left) return std::aligned_alloc(64, nbytes);
        ++refusals;
        return nullptr;
      },
      [](void* block, size_t) { std::free(block); },
  });
  {
    const int64_t sizes[] = {100000};
    Tensor kept = empty(sizes, DType::Float32);
    kept->host_as<float>()[99999] = 5;
    free_block(allocate_block(500000, size_class(500000)), size_class(500000));
    CHECK(allocator_statistics().reserved_bytes > 900000);
    memory_left = false;
    refusals = 0;
    const int64_t larger[] = {1000000};
    CHECK_RAISES("not enough memory", empty(larger, DType::Float64));
    CHECK(refusals == 2);  // asked, emptied the caches, asked again
    CHECK(allocator_statistics().num_out_of_memory >= 1 && kept->host_as<float>()[99999] == 5);
    CHECK_RAISES("cannot be replaced", set_base_allocator(before));
    memory_left = true;
    empty(larger, DType::Float64);
  }
  set_base_allocator(before);
}

namespace {

int taken_blocks = 0, returned_blocks = 0;

}  // namespace

TEST(the_hook_sees_every_block) {
  set_allocator_hook([](void*, size_t, bool taken) { ++(taken ? taken_blocks : returned_blocks); });
  const int64_t sizes[] = {4, 4};
  empty(sizes, DType::Float32);
  set_allocator_hook(nullptr);
  CHECK(taken_blocks == 2 && returned_blocks == 2);  // the tensor and its storage
}

TEST(storages_resize_in_place) {
  Ref<Storage> storage = allocate_storage(100);
  CHECK(storage->host == storage.get() + 1);
  static_cast<char*>(storage->host)[99] = 7;
  resize_storage(*storage, 10000);
  CHECK(storage->nbytes == 10000 && static_cast<char*>(storage->host)[99] == 7);
  resize_storage(*storage, 20000);
  resize_storage(*storage, 0);
  CHECK(storage->nbytes == 0);
  Ref<Storage> empty_storage = allocate_storage(0);
  CHECK(!empty_storage->host);
  resize_storage(*empty_storage, 64);
  CHECK(empty_storage->host);
  char foreign[8];
  Ref<Storage> wrapped =
      wrap_storage(foreign, 8, [](Storage* dying) { ++*static_cast<int*>(dying->context); }, &refusals);
  CHECK_RAISES("not resizable", resize_storage(*wrapped, 16));
  refusals = 0;
  wrapped = nullptr;
  CHECK(refusals == 1);
}

TEST(storage_identities_are_never_reused) {
  const uint64_t first = storage_id(*allocate_storage(8)), second = storage_id(*allocate_storage(8));
  CHECK(first != second);
}
