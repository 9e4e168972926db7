// GivenBlocks: the blocks that a backend gave and that are in use. Refuses wrong addresses where they are given,
// because they would lead to wrong results much later. The caller serialises its calls.
#pragma once

#include <map>
#include <utility>

#include "core/backend.h"

namespace pellucid {

class GivenBlocks {
 public:
  // Raises a Runtime error for no address, and for one inside of a block in use. Neither may be released.
  void add(Device device, uint64_t address, size_t nbytes);
  void remove(Device device, uint64_t address) { blocks_.erase({device.index, address}); }

 private:
  std::map<std::pair<int8_t, uint64_t>, size_t> blocks_;
};

}  // namespace pellucid
