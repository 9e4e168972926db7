#include "kernels/scratch.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

namespace pellucid {
namespace {

constexpr int kKeptBlocks = 4;
constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;

struct Block {
  char* start = nullptr;
  size_t bytes = 0;
};

struct Kept {
  Block blocks[kKeptBlocks];
  ~Kept() {
    for (const Block& block : blocks) std::free(block.start);
  }
};
thread_local Kept kept;

Block allocate(size_t bytes) {
  const size_t page = bytes >= kHugePage / 2 ? kHugePage : kPage;
  const size_t rounded = (bytes + page - 1) / page * page;
  auto* start = static_cast<char*>(std::aligned_alloc(page, rounded));
  if (!start) throw std::bad_alloc();
  if (page == kHugePage) madvise(start, rounded, MADV_HUGEPAGE);   // packed blocks are walked from end to end
  return {start, rounded};
}

}  // namespace

Scratch::Scratch(size_t bytes) : start_(nullptr), bytes_(0) {
  if (bytes == 0) return;
  Block* best = nullptr;
  for (Block& block : kept.blocks)
    if (block.bytes >= bytes && (!best || block.bytes < best->bytes)) best = &block;
  const Block taken = best && best->start ? std::exchange(*best, Block{}) : allocate(bytes);
  start_ = taken.start;
  bytes_ = taken.bytes;
}

Scratch::~Scratch() {
  if (!start_) return;
  Block& smallest = *std::ranges::min_element(kept.blocks, {}, &Block::bytes);
  if (bytes_ > smallest.bytes) {
    std::swap(smallest.start, start_);
    std::swap(smallest.bytes, bytes_);
  }
  std::free(start_);
}

}  // namespace pellucid
