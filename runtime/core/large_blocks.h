// Large blocks: parts of segments, split on demand and merged with free neighbours.
//
// A training step allocates large blocks of many sizes one after another. Lists by size would retain the peak of
// each size; here a freed block can serve any size. The shared cache (core/allocator.cpp) holds one of these
// under its mutex and requests segments from the base allocator.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

namespace pellucid {

class LargeBlocks {
 public:
  using Release = void (*)(void* segment, size_t nbytes);
  using Discard = void (*)(void* block, size_t nbytes);

  // Takes the smallest free part that fits, among equals the one with the most resident bytes; null if there is
  // none. `reused` receives the resident bytes of the block. Unless `any_part`, one free segment that has served much
  // larger blocks is left whole: a small block that outlived its loop iteration would make the next large block touch
  // new pages. Only one: if each were left whole, every iteration would add a segment.
  void* take(size_t nbytes, size_t* reused, bool any_part);
  void add_segment(void* segment, size_t nbytes);
  // Takes a block back; returns its size.
  size_t give_back(void* block);
  // Releases segments without live blocks and discards the contents of other free parts (with a null `discard`
  // they stay resident). Returns the number of bytes released.
  size_t trim(Release release, Discard discard);

  struct Listed {
    char* address;
    size_t nbytes, resident;
    bool free, starts_segment;
    size_t largest;  // of the blocks that the segment has served, if the part starts one
  };
  std::vector<Listed> list_parts() const;  // by address

 private:
  struct Part {
    size_t nbytes;
    size_t resident;  // bytes of a free part that may be resident
    bool free;
    bool starts_segment;
  };
  using Parts = std::map<char*, Part>;

  // By size; among equals the most resident bytes first, so that resident pages are reused before new ones are touched.
  struct FreePart {
    size_t nbytes;
    size_t untouched;
    char* address;
    auto operator<=>(const FreePart&) const = default;
  };

  static FreePart place_of(Parts::iterator part) {
    return {part->second.nbytes, part->second.nbytes - part->second.resident, part->first};
  }
  void list(Parts::iterator part) { free_.insert(place_of(part)); }
  void unlist(Parts::iterator part) { free_.erase(place_of(part)); }
  void absorb_next(Parts::iterator part);
  bool is_whole_segment(Parts::const_iterator part) const;
  bool is_worth_leaving_whole(const FreePart& part, size_t nbytes) const;

  Parts parts_;                       // of all segments, by address
  std::map<char*, size_t> segments_;  // by address: the largest block that each has served
  std::set<FreePart> free_;
};

// The parts of the shared cache (core/allocator.cpp).
std::vector<LargeBlocks::Listed> list_large_blocks();

}  // namespace pellucid
