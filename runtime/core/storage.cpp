#include <algorithm>
#include <cctype>
#include <cstring>
#include <new>

#include "core/allocator.h"
#include "core/backend.h"
#include "core/device_names.h"
#include "core/device_pool.h"
#include "core/error.h"
#include "core/inline_storage.h"
#include "core/storage.h"
#include "core/storage_parts.h"
#include "timeline/recorder.h"

namespace pellucid {
namespace {

constexpr int kHeaderClass = size_class(sizeof(Storage));

std::atomic<uint64_t> last_storage_id{0};

}  // namespace

void raise_absent_device(Device device) {
  const std::string name = device_type_name(device.type);
  std::string upper = name;
  for (char& letter : upper) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  constexpr const char* kAdvice =
      "Tensors can be made on cpu and meta; leave `device` out, or check first that the device is available.";
  if (const std::string why = device.type == DeviceType::CUDA ? why_no_cuda() : std::string(); !why.empty())
    raise(ErrorKind::Runtime, "%s", why.c_str());
  switch (device.type) {
    case DeviceType::CUDA:
    case DeviceType::XPU:
    case DeviceType::HPU:
    case DeviceType::MTIA:
      raise(ErrorKind::Assertion, "Torch not compiled with %s enabled\n%s", upper.c_str(), kAdvice);
    case DeviceType::MPS:
      raise(ErrorKind::Runtime, "PyTorch is not linked with support for %s devices\n%s", name.c_str(), kAdvice);
    default:
      raise(
          ErrorKind::NotImplemented,
          "Could not run 'aten::empty.memory_format' with arguments from the '%s' backend: it has no kernel there\n%s",
          device.type == DeviceType::PrivateUse ? name.c_str() : upper.c_str(), kAdvice);
  }
}

namespace {

void release_device_memory(Storage* storage) {
  backend_of(storage->device).pool->release(storage->device, storage->device_address);
}

// For Meta, for device types without a backend, and for empty storages.
Ref<Storage> make_empty_storage(size_t nbytes, Device device) {
  auto* storage = new (allocate_block(sizeof(Storage), kHeaderClass)) Storage;
  storage->nbytes = nbytes;
  storage->device = device;
  storage->size_class = storage->header_class = kHeaderClass;
  return Ref<Storage>::adopt(storage);
}

Ref<Storage> make_device_storage(size_t nbytes, Device device) {
  Ref<Storage> storage = make_empty_storage(nbytes, device);
  Backend* const backend = find_backend(device.type);
  if (!backend || !nbytes) return storage;
  storage->device_address = backend->pool->allocate(device, nbytes);
  storage->deleter = release_device_memory;
  return storage;
}

Ref<Storage> make_storage(size_t nbytes, Device device) {
  const bool on_cpu = device.type == DeviceType::CPU;
  if (on_cpu && nbytes && nbytes <= kInlineStorage) return Ref<Storage>::adopt(allocate_inline_storage(nbytes));
  if (!on_cpu) return make_device_storage(nbytes, device);
  if (!nbytes) return make_empty_storage(nbytes, device);
  const int klass = size_class(nbytes);
  void* data = allocate_block(nbytes, klass);
  Storage* storage = nullptr;
  try {
    storage = new (allocate_block(sizeof(Storage), kHeaderClass)) Storage;
  } catch (...) {
    free_block(data, klass);
    throw;
  }
  storage->host = data;
  storage->nbytes = nbytes;
  storage->size_class = static_cast<int16_t>(klass);
  return Ref<Storage>::adopt(storage);
}

void record(bool made, const Storage& storage) {
  if (storage.host && storage.size_class >= 0) record_storage(made, &storage, storage.nbytes);
}

}  // namespace

Ref<Storage> allocate_storage(size_t nbytes, Device device) {
  Ref<Storage> storage = make_storage(nbytes, device);
  if (is_watched(kWatchMemory)) [[unlikely]]
    record(true, *storage);
  return storage;
}

Ref<Storage> make_unfilled_storage(size_t nbytes) {
  auto* storage = new (allocate_block(sizeof(Storage), kHeaderClass)) Storage;
  storage->nbytes = nbytes;
  storage->size_class = storage->header_class = kHeaderClass;
  return Ref<Storage>::adopt(storage);
}

void fill_storage(Storage& storage, void* block) {
  storage.size_class = static_cast<int16_t>(size_class(storage.nbytes));
  storage.host = block;
  if (is_watched(kWatchMemory)) [[unlikely]]
    record(true, storage);
}

void empty_storage(Storage& storage) {
  if (is_watched(kWatchMemory)) [[unlikely]]
    record(false, storage);
  const bool is_inline = is_inline_storage(storage);
  void* block = std::exchange(storage.host, nullptr);
  if (!is_inline) free_block(block, storage.size_class);
  storage.size_class = storage.header_class;
}

bool move_memory(Storage& from, Storage& to) {
  const bool stays = from.deleter || from.size_class < 0 || from.nbytes <= kInlineStorage || from.escaped;
  if (stays || from.nbytes != to.nbytes || from.refs.load(std::memory_order_acquire) != 1) return false;
  if (is_watched(kWatchMemory)) [[unlikely]]
    record(false, from);
  to.host = std::exchange(from.host, nullptr);
  to.size_class = std::exchange(from.size_class, from.header_class);
  if (is_watched(kWatchMemory)) [[unlikely]]
    record(true, to);
  return true;
}

void renew_storage(Storage& storage) {
  if (is_watched(kWatchMemory)) [[unlikely]]
    record(false, storage);
  storage.version.store(0, std::memory_order_relaxed);
  storage.id = 0;
  if (is_watched(kWatchMemory)) [[unlikely]]
    record(true, storage);
}

Ref<Storage> take_memory(Storage& storage) {
  const bool has_own = storage.host && storage.host != &storage + 1;
  Ref<Storage> taken = has_own ? make_unfilled_storage(storage.nbytes) : nullptr;
  if (is_watched(kWatchMemory)) [[unlikely]]
    record(false, storage);
  if (!taken) return nullptr;
  taken->host = std::exchange(storage.host, nullptr);
  taken->size_class = std::exchange(storage.size_class, storage.header_class);
  taken->deleter = std::exchange(storage.deleter, nullptr);
  taken->context = std::exchange(storage.context, nullptr);
  taken->resizable = storage.resizable;
  if (is_watched(kWatchMemory)) [[unlikely]]
    record(true, *taken);
  return taken;
}

Ref<Storage> wrap_storage(void* data, size_t nbytes, Storage::Deleter deleter, void* context) {
  auto* storage = new (allocate_block(sizeof(Storage), kHeaderClass)) Storage;
  storage->host = data;
  storage->nbytes = nbytes;
  storage->resizable = false;
  storage->deleter = deleter;
  storage->context = context;
  return Ref<Storage>::adopt(storage);
}

namespace {

void release_whole(Storage* part) { Ref<Storage>::adopt(static_cast<Storage*>(part->context)); }

}  // namespace

Ref<Storage> slice_storage(Storage& whole, size_t start, size_t nbytes) {
  let_escape(whole);
  Ref<Storage> part =
      wrap_storage(static_cast<char*>(whole.host) + start, nbytes, release_whole, Ref<Storage>::share(&whole).leak());
  part->escaped = true;
  return part;
}

Storage* whole_of(const Storage& storage) {
  return storage.deleter == release_whole ? static_cast<Storage*>(storage.context) : nullptr;
}

void destroy(Storage* storage) {
  if (is_watched(kWatchMemory)) [[unlikely]]
    record(false, *storage);
  if (storage->deleter) storage->deleter(storage);
  if (storage->size_class >= 0 && storage->host && storage->host != storage + 1)
    free_block(storage->host, storage->size_class);
  const int header_class = storage->header_class;
  storage->~Storage();
  free_block(storage, header_class);
}

namespace {

void resize_on_device(Storage& storage, size_t nbytes) {
  Backend* const backend = find_backend(storage.device.type);
  if (backend && nbytes != storage.nbytes) {
    const uint64_t address = nbytes ? backend->pool->allocate(storage.device, nbytes) : 0;
    if (const size_t common = std::min(nbytes, storage.nbytes))
      backend->copy_within(storage.device, address, storage.device_address, common);
    if (storage.nbytes) release_device_memory(&storage);
    storage.device_address = address;
    storage.deleter = address ? release_device_memory : nullptr;
  }
  storage.nbytes = nbytes;
}

void resize_unrecorded(Storage& storage, size_t nbytes) {
  if (!storage.resizable || storage.size_class < 0)
    raise(ErrorKind::Runtime,
          "Trying to resize storage that is not resizable: its memory is shared with NumPy, DLPack, a file "
          "or a slice of the storage");
  if (storage.device.type != DeviceType::CPU) return resize_on_device(storage, nbytes);
  const bool is_inline = storage.host == &storage + 1;
  const size_t capacity = class_bytes(storage.size_class) - (is_inline ? sizeof(Storage) : 0);
  if (storage.host && nbytes <= capacity) {
    storage.nbytes = nbytes;
    return;
  }
  const int klass = size_class(nbytes);
  void* data = allocate_block(nbytes, klass);
  if (storage.host) std::memcpy(data, storage.host, std::min(nbytes, storage.nbytes));
  if (storage.host && !is_inline) free_block(storage.host, storage.size_class);
  storage.host = data;
  storage.nbytes = nbytes;
  storage.size_class = static_cast<int16_t>(klass);
}

}  // namespace

void resize_storage(Storage& storage, size_t nbytes) {
  const bool is_recorded = is_watched(kWatchMemory);
  if (is_recorded) [[unlikely]]
    record(false, storage);
  resize_unrecorded(storage, nbytes);
  if (is_recorded) [[unlikely]]
    record(true, storage);
}

uint64_t storage_id(Storage& storage) {
  if (!storage.id) storage.id = last_storage_id.fetch_add(1, std::memory_order_relaxed) + 1;
  return storage.id;
}

}  // namespace pellucid
