#include "core/given_blocks.h"

#include "core/device_names.h"
#include "core/error.h"

namespace pellucid {

void GivenBlocks::add(Device device, uint64_t address, size_t nbytes) {
  const auto refuse = [&](const char* why) {
    raise(ErrorKind::Runtime, "%s: allocate(%d, %zu) returned 0x%llx, %s", device_type_name(device.type).c_str(),
          device.index, nbytes, static_cast<unsigned long long>(address), why);
  };
  if (!address) refuse("expected the address of the bytes, a positive int");
  const auto next = blocks_.lower_bound({device.index, address});
  const auto meets = [&](const auto& block) {
    return block.first.first == device.index && block.first.second < address + nbytes &&
           address < block.first.second + block.second;
  };
  if ((next != blocks_.end() && meets(*next)) || (next != blocks_.begin() && meets(*std::prev(next))))
    refuse("inside of a block that is not released yet");
  blocks_.emplace(std::pair(device.index, address), nbytes);
}

}  // namespace pellucid
