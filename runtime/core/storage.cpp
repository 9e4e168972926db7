#include <new>

#include "core/allocator.h"
#include "core/storage.h"

namespace pellucid {
namespace {

// Up to here header and data share a block; larger data gets blocks of its own, so that sizes which
// are powers of two do not spill into the next class.
constexpr size_t kInlineLimit = 4096 - sizeof(Storage);
constexpr int kHeaderClass = size_class(sizeof(Storage));

std::atomic<uint64_t> last_storage_id{0};

}  // namespace

Ref<Storage> allocate_storage(size_t nbytes, Device device) {
  const bool on_cpu = device.type == DeviceType::CPU;
  if (nbytes <= kInlineLimit || !on_cpu) [[likely]] {
    const size_t total = sizeof(Storage) + (on_cpu ? nbytes : 0);
    const int klass = size_class(total);
    auto* storage = new (allocate_block(total, klass)) Storage;
    storage->data = on_cpu && nbytes ? storage + 1 : nullptr;
    storage->nbytes = nbytes;
    storage->device = device;
    storage->size_class = static_cast<int16_t>(klass);
    return Ref<Storage>::adopt(storage);
  }
  const int klass = size_class(nbytes);
  void* data = allocate_block(nbytes, klass);
  Storage* storage = nullptr;
  try {
    storage = new (allocate_block(sizeof(Storage), kHeaderClass)) Storage;
  } catch (...) {
    free_block(data, klass);
    throw;
  }
  storage->data = data;
  storage->nbytes = nbytes;
  storage->size_class = static_cast<int16_t>(klass);
  return Ref<Storage>::adopt(storage);
}

Ref<Storage> wrap_storage(void* data, size_t nbytes, Storage::Deleter deleter, void* context) {
  auto* storage = new (allocate_block(sizeof(Storage), kHeaderClass)) Storage;
  storage->data = data;
  storage->nbytes = nbytes;
  storage->resizable = false;
  storage->deleter = deleter;
  storage->context = context;
  return Ref<Storage>::adopt(storage);
}

void destroy(Storage* storage) {
  if (storage->deleter) storage->deleter(storage);
  const int klass = storage->size_class;
  const bool separate = klass >= 0 && storage->data && storage->data != storage + 1;
  if (separate) free_block(storage->data, klass);
  const int header_class = klass < 0 || separate ? kHeaderClass : klass;
  storage->~Storage();
  free_block(storage, header_class);
}

uint64_t storage_id(Storage& storage) {
  if (!storage.id) storage.id = last_storage_id.fetch_add(1, std::memory_order_relaxed) + 1;
  return storage.id;
}

}  // namespace pellucid
