// Large blocks: parts of segments, split on demand and merged with their neighbours when they are free.
//
// A training step takes large blocks of many sizes one after another. Lists by size would keep the
// most that was ever live of each size; here a block that was freed serves any size. The shared cache
// (core/allocator.cpp) holds one of these under its mutex and asks the base allocator for segments.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

namespace pellucid {

class LargeBlocks {
 public:
  using Release = void (*)(void* segment, size_t nbytes);
  using Discard = void (*)(void* block, size_t nbytes);

  // The smallest free part that fits, or null. `reused` is how much of the block is resident.
  void* take(size_t nbytes, size_t* reused);
  void add_segment(void* segment, size_t nbytes);
  // Keeps the block; returns its size.
  size_t give_back(void* block);
  // Releases segments without live blocks and lets the contents of other free parts go (`discard`
  // may be null: those stay resident then). Returns the bytes that went.
  size_t trim(Release release, Discard discard);

 private:
  struct Part {
    size_t nbytes;
    size_t resident;  // bytes of a free part that may hold pages of memory
    bool free;
    bool starts_segment;
  };
  using Parts = std::map<char*, Part>;

  void list(Parts::iterator part) { free_.emplace(part->second.nbytes, part->first); }
  void unlist(Parts::iterator part) { free_.erase({part->second.nbytes, part->first}); }
  void absorb_next(Parts::iterator part);
  bool is_whole_segment(Parts::iterator part) const;

  Parts parts_;                              // of all segments, by address
  std::set<std::pair<size_t, char*>> free_;  // by size
};

}  // namespace pellucid
