#include "kernels/scratch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace pellucid {
namespace {

constexpr int kCachedBlocks = 4;
constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;

using Block = Scratch::Block;

struct BlockCache {
  Block blocks[kCachedBlocks];
  ~BlockCache() {
    for (const Block& block : blocks) std::free(block.start);
  }
};
thread_local BlockCache block_cache;

Block allocate(size_t bytes, bool huge) {
  const size_t page = huge ? kHugePage : kPage;
  const size_t rounded = (bytes + page - 1) / page * page;
  auto* start = static_cast<char*>(std::aligned_alloc(page, rounded));
  if (!start) throw std::bad_alloc();
  if (huge) madvise(start, rounded, MADV_HUGEPAGE);  // packed blocks are read sequentially from end to end
  return {start, rounded, huge};
}

}  // namespace

Scratch::Scratch(size_t bytes, size_t touched) {
  if (bytes == 0) return;
  const bool huge = touched >= kHugePage / 2;
  Block* best = nullptr;
  for (Block& block : block_cache.blocks)
    if (block.bytes >= bytes && block.huge >= huge && (!best || block.bytes < best->bytes)) best = &block;
  block_ = best ? std::exchange(*best, Block{}) : allocate(bytes, huge);
}

Scratch::~Scratch() {
  if (!block_.start) return;
  Block& smallest = *std::ranges::min_element(block_cache.blocks, {}, &Block::bytes);
  if (block_.bytes > smallest.bytes) std::swap(smallest, block_);
  std::free(block_.start);
}

}  // namespace pellucid
