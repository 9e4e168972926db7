#include "core/pinned_memory.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "core/device_names.h"
#include "core/device_pool.h"
#include "core/error.h"
#include "threads/fork_safe_mutex.h"

namespace pellucid {
namespace {

constexpr size_t kSmallest = 4096;

struct Use {
  Device device;
  int64_t stream;
  bool operator==(const Use&) const = default;
};
struct Awaited {
  Device device;
  uint64_t event;
};
struct Block {
  void* address;
  size_t nbytes;
  std::vector<Use> uses;         // of a freed block: by streams that were being captured then
  std::vector<Awaited> awaited;  // of a freed block
};

FORK_SAFE ForkSafeMutex mutex;  // of the free blocks and of blocks' uses
std::multimap<size_t, Block*>& free_blocks() {
  static auto* const blocks = new std::multimap<size_t, Block*>;
  return *blocks;
}

// Records events behind a freed block's uses; a stream that is being captured gets its one afterwards.
void record_uses(Block& block) {
  std::erase_if(block.uses, [&](const Use& use) {
    Backend& backend = backend_of(use.device);
    if (backend.pool->capture_of(use.device, use.stream)) return false;
    block.awaited.push_back({use.device, backend.record(use.device, use.stream)});
    return true;
  });
}

bool is_idle(Block& block) {
  record_uses(block);
  std::erase_if(block.awaited, [](const Awaited& item) {
    Backend& backend = backend_of(item.device);
    if (!backend.is_done(item.device, item.event)) return false;
    backend.drop_event(item.device, item.event);
    return true;
  });
  return block.awaited.empty() && block.uses.empty();
}

Block* take_free(size_t nbytes) {
  std::vector<Block*> candidates;
  {
    const std::lock_guard lock(mutex);
    const auto [first, last] = free_blocks().equal_range(nbytes);
    std::transform(first, last, std::back_inserter(candidates), [](const auto& entry) { return entry.second; });
    free_blocks().erase(first, last);
  }
  Block* taken = nullptr;
  const auto put_back = [&] {
    const std::lock_guard lock(mutex);
    for (Block* const block : candidates)
      if (block != taken) free_blocks().emplace(nbytes, block);
  };
  try {
    for (Block* const block : candidates)
      if (!taken && is_idle(*block)) taken = block;
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
  return taken;
}

void free_block_of(Storage* storage) {
  auto* const block = static_cast<Block*>(storage->context);
  try {
    record_uses(*block);  // nothing else knows the block now
  } catch (const Error&) {
    return;  // the device has failed: the block may be in use for ever
  }
  const std::lock_guard lock(mutex);
  free_blocks().emplace(block->nbytes, block);
}

Block* make_block(size_t nbytes) {
  for (const DeviceType type :
       {DeviceType::CUDA, DeviceType::PrivateUse, DeviceType::PrivateUse2, DeviceType::PrivateUse3})
    if (Backend* const backend = find_backend(type))
      if (void* const address = backend->allocate_pinned(nbytes)) return new Block{address, nbytes, {}, {}};
  raise(ErrorKind::Runtime,
        "Cannot access accelerator device when none is available: memory is pinned for copies to one\n"
        "Leave pin_memory out");
}

}  // namespace

Ref<Storage> allocate_pinned_storage(size_t nbytes) {
  const size_t size = std::max(std::bit_ceil(nbytes), kSmallest);
  Block* block = take_free(size);
  if (!block) block = make_block(size);
  return wrap_storage(block->address, nbytes, free_block_of, block);
}

void require_pinnable(Device device) {
  if (device.type != DeviceType::CPU)
    raise(ErrorKind::Runtime, "Only dense CPU tensors can be pinned; this one is on %s", device_name(device).c_str());
}

bool is_pinned(const Storage& storage) { return storage.deleter == free_block_of; }

void note_pinned_use(const Storage& storage, Device device, int64_t stream) {
  auto* const block = static_cast<Block*>(storage.context);
  const std::lock_guard lock(mutex);
  const Use use{device, stream};
  if (std::ranges::find(block->uses, use) == block->uses.end()) block->uses.push_back(use);
}

}  // namespace pellucid
