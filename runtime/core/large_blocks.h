// Large blocks: parts of segments, split on demand and merged with their neighbours when they are free.
//
// A training step takes large blocks of many sizes one after another. Lists by size would keep the
// most that was ever live of each size; here a block that was freed serves any size. The shared cache
// (core/allocator.cpp) holds one of these under its mutex and asks the base allocator for segments.
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

  // The smallest free part that fits, of equal ones the one with the most resident
  // bytes, or null. `reused` is how much of the block is resident. Unless `any_part`, one free segment
  // that larger blocks use is left whole: a small block that outlived it would make the next of them
  // take new pages. One only: with each left whole, every turn of a loop would add a segment.
  void* take(size_t nbytes, size_t* reused, bool any_part);
  void add_segment(void* segment, size_t nbytes);
  // Keeps the block; returns its size.
  size_t give_back(void* block);
  // Releases segments without live blocks and lets the contents of other free parts go (`discard`
  // may be null: those stay resident then). Returns the bytes that went.
  size_t trim(Release release, Discard discard);

  struct Listed {
    char* address;
    size_t nbytes, resident;
    bool free, starts_segment;
  };
  std::vector<Listed> list_parts() const;  // by address

 private:
  struct Part {
    size_t nbytes;
    size_t resident;  // bytes of a free part that may hold pages of memory
    bool free;
    bool starts_segment;
  };
  using Parts = std::map<char*, Part>;

  // By size; of equal ones that with the most resident bytes comes first, so that pages at hand go before new ones.
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

  Parts parts_;  // of all segments, by address
  std::set<FreePart> free_;
};

// Those of the shared cache (core/allocator.cpp).
std::vector<LargeBlocks::Listed> list_large_blocks();

}  // namespace pellucid
