#include "core/large_blocks.h"

#include <algorithm>
#include <iterator>

#include "core/allocator.h"

namespace pellucid {

namespace {
constexpr size_t kSmallShare = 16;  // a block that is this much smaller must not pin the pages of a large one
}

bool LargeBlocks::is_worth_leaving_whole(const FreePart& part, size_t nbytes) const {
  const auto place = parts_.find(part.address);
  return is_whole_segment(place) && segments_.at(part.address) / kSmallShare >= nbytes;
}

void* LargeBlocks::take(size_t nbytes, size_t* reused, bool any_part) {
  auto found = free_.lower_bound({nbytes, 0, nullptr});
  if (!any_part && found != free_.end() && is_worth_leaving_whole(*found, nbytes)) ++found;
  if (found == free_.end()) return nullptr;
  const auto part = parts_.find(found->address);
  free_.erase(found);
  Part& taken = part->second;
  *reused = std::min(taken.resident, nbytes);
  if (taken.nbytes > nbytes) {
    const Part rest{taken.nbytes - nbytes, taken.resident - *reused, true, false};
    list(parts_.emplace_hint(std::next(part), part->first + nbytes, rest));
  }
  taken = {nbytes, 0, false, taken.starts_segment};
  size_t& largest = std::prev(segments_.upper_bound(part->first))->second;
  largest = std::max(largest, nbytes);
  unpoison_block(part->first, nbytes);
  return part->first;
}

void LargeBlocks::add_segment(void* segment, size_t nbytes) {
  const auto start = static_cast<char*>(segment);
  segments_.emplace(start, 0);
  list(parts_.emplace(start, Part{nbytes, 0, true, true}).first);
}

size_t LargeBlocks::give_back(void* block) {
  auto part = parts_.find(static_cast<char*>(block));
  const size_t nbytes = part->second.nbytes;
  poison_block(block, nbytes);
  part->second.free = true;
  part->second.resident = nbytes;
  absorb_next(part);
  if (!part->second.starts_segment) {
    const auto before = std::prev(part);
    if (before->second.free) {
      unlist(before);
      list(part);  // absorb_next removes it from the list again
      absorb_next(before);
      part = before;
    }
  }
  list(part);
  return nbytes;
}

// Merges an unlisted free part with the next part, if that is free and in the same segment.
void LargeBlocks::absorb_next(Parts::iterator part) {
  const auto next = std::next(part);
  if (next == parts_.end() || !next->second.free || next->second.starts_segment) return;
  unlist(next);
  part->second.nbytes += next->second.nbytes;
  part->second.resident += next->second.resident;
  parts_.erase(next);
}

bool LargeBlocks::is_whole_segment(Parts::const_iterator part) const {
  const auto next = std::next(part);
  return part->second.starts_segment && (next == parts_.end() || next->second.starts_segment);
}

std::vector<LargeBlocks::Listed> LargeBlocks::list_parts() const {
  std::vector<Listed> listed;
  for (const auto& [address, part] : parts_)
    listed.push_back({address, part.nbytes, part.resident, part.free, part.starts_segment,
                      part.starts_segment ? segments_.at(address) : 0});
  return listed;
}

size_t LargeBlocks::trim(Release release, Discard discard) {
  size_t released = 0;
  for (auto part = parts_.begin(); part != parts_.end();) {
    const auto current = part++;
    Part& state = current->second;
    if (!state.free) continue;
    if (is_whole_segment(current)) {
      released += state.resident;
      unlist(current);
      unpoison_block(current->first, state.nbytes);
      release(current->first, state.nbytes);
      segments_.erase(current->first);
      parts_.erase(current);
    } else if (state.resident && discard) {
      released += state.resident;
      discard(current->first, state.nbytes);
      unlist(current);
      state.resident = 0;
      list(current);
    }
  }
  return released;
}

}  // namespace pellucid
