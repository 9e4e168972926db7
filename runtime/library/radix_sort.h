// A stable sort of keys with their positions, for rows too long for comparison sorts.
//
// The most significant digit comes first: one pass over memory moves every element to the bucket of its highest
// bits. Buckets fit the cache and are then sorted by the remaining bits, least significant digit first. All
// threads share the chunks and buckets, which do not depend on the number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/thread_pool.h"

namespace pellucid {

template <class Key>
struct KeyAndPlace {
  Key key;
  uint32_t place;
};

namespace radix {

constexpr int64_t kChunk = 1 << 16;    // elements that one thread moves at a time
constexpr int kBucketBits = 6;         // the most bits of the most significant digit: the TLB holds a page of each
constexpr int kBucketSize = 7;         // log2 of the smallest mean bucket size
constexpr int kDigitBits = 9;          // in the passes over a bucket
constexpr int64_t kInsertion = 24;     // below this, insertion sort is faster than counting
constexpr int64_t kBucketBlocks = 64;  // blocks of buckets that threads take

// Runs `body(chunk, begin, end)` for the chunks of `count` elements, on all threads.
template <class Body>
void in_chunks(int64_t count, Body&& body) {
  parallel_blocks((count + kChunk - 1) / kChunk,
                  [&](int64_t chunk) { body(chunk, chunk * kChunk, std::min((chunk + 1) * kChunk, count)); });
}

template <class Key>
void insert_sorted(KeyAndPlace<Key>* items, int64_t count) {
  for (int64_t i = 1; i < count; ++i) {
    const KeyAndPlace<Key> moved = items[i];
    int64_t to = i;
    for (; to > 0 && items[to - 1].key > moved.key; --to) items[to] = items[to - 1];
    items[to] = moved;
  }
}

// Sorts a bucket by its low `width` bits in `passes` passes; the result is in `spare` if their number is odd.
template <class Key>
void sort_bucket(KeyAndPlace<Key>* items, KeyAndPlace<Key>* spare, int64_t count, int width, int passes) {
  if (count <= kInsertion) {
    insert_sorted(items, count);
    if (passes % 2) std::copy_n(items, count, spare);
    return;
  }
  const int bits = (width + passes - 1) / passes;
  const Key mask = static_cast<Key>((Key{1} << bits) - 1);
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = pass * bits;
    std::array<uint32_t, 1 << kDigitBits> starts;
    std::fill_n(starts.begin(), mask + 1, 0);
    for (int64_t i = 0; i < count; ++i) ++starts[items[i].key >> shift & mask];
    uint32_t next = 0;
    for (Key digit = 0; digit <= mask; ++digit) next += std::exchange(starts[digit], next);
    for (int64_t i = 0; i < count; ++i) spare[starts[items[i].key >> shift & mask]++] = items[i];
    std::swap(items, spare);
  }
}

}  // namespace radix

// Sorts `count` items by their keys, which have only the low `width` bits; returns the one of the two buffers
// that has the result.
template <class Key>
KeyAndPlace<Key>* radix_sort(KeyAndPlace<Key>* items, KeyAndPlace<Key>* spare, int64_t count, int width) {
  using namespace radix;
  if (count < 2 || width == 0) return items;
  const int top = std::clamp(static_cast<int>(std::bit_width(static_cast<uint64_t>(count))) - kBucketSize, 0,
                             std::min(width, kBucketBits));
  const int rest = width - top, num_buckets = 1 << top;
  std::vector<uint32_t> starts(num_buckets + 1, 0);
  if (top) {
    const int64_t chunks = (count + kChunk - 1) / kChunk;
    std::vector<uint32_t> counts(chunks << top, 0);
    in_chunks(count, [&](int64_t chunk, int64_t begin, int64_t end) {
      uint32_t* own = counts.data() + (chunk << top);
      for (int64_t i = begin; i < end; ++i) ++own[items[i].key >> rest];
    });
    uint32_t next = 0;
    for (int bucket = 0; bucket < num_buckets; ++bucket) {
      starts[bucket] = next;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) next += std::exchange(counts[(chunk << top) + bucket], next);
    }
    in_chunks(count, [&](int64_t chunk, int64_t begin, int64_t end) {
      uint32_t* own = counts.data() + (chunk << top);
      for (int64_t i = begin; i < end; ++i) spare[own[items[i].key >> rest]++] = items[i];
    });
    std::swap(items, spare);
  }
  starts[num_buckets] = static_cast<uint32_t>(count);
  const int passes = (rest + kDigitBits - 1) / kDigitBits;
  if (!passes) return items;
  const int64_t blocks = std::min<int64_t>(num_buckets, kBucketBlocks);
  parallel_blocks(blocks, [&](int64_t block) {
    for (int64_t b = num_buckets * block / blocks; b < num_buckets * (block + 1) / blocks; ++b)
      sort_bucket(items + starts[b], spare + starts[b], starts[b + 1] - starts[b], rest, passes);
  });
  return passes % 2 ? spare : items;
}

}  // namespace pellucid
