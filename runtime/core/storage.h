// Storage: a reference-counted block of bytes on one device, and the version cell that in-place writes bump.
//
// `host` is where the CPU may read and write; a storage of another device has an `address` that means nothing to the
// CPU, and no `host`. A device's memory comes from its Backend (core/backend.h).
//
// The version cell is shared by every view and by `detach`; `.data` gives a tensor of the same
// storage a cell of its own. `escaped` says that memory can be written from outside (NumPy, DLPack), and
// `resizable` that it may move: no address of it is known outside.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/ref.h"

namespace pellucid {

// PyTorch's types by its numbers, and two more for users' backends. Those without a Backend (core/backend.h) have
// names, and answers of their absence.
enum class DeviceType : uint8_t {
  CPU,
  CUDA,
  MKLDNN,
  OpenGL,
  OpenCL,
  IDEEP,
  HIP,
  FPGA,
  MAIA,
  XLA,
  Vulkan,
  Metal,
  XPU,
  MPS,
  Meta,
  HPU,
  VE,
  Lazy,
  IPU,
  MTIA,
  PrivateUse,  // backends of the user's: core/device_names.h
  PrivateUse2,
  PrivateUse3,
};
struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;
  bool operator==(const Device&) const = default;
};

// That a device is absent, with the type and the first words of PyTorch's error.
[[noreturn]] void raise_absent_device(Device device);

struct VersionCell : RefCounted {
  std::atomic<uint32_t> value{0};
};

struct Storage : RefCounted {
  using Deleter = void (*)(Storage*);

  void* host = nullptr;  // null off the CPU, for Meta and for empty storages
  size_t nbytes = 0;
  std::atomic<uint32_t> version{0};
  Device device;
  bool escaped = false;
  bool resizable = true;
  std::atomic<uint16_t> awaited{0};  // recorded ops that did not run yet read it: see before_write (core/hooks.h)
  int16_t size_class = -1;           // of the data's block; -1: foreign memory
  int16_t header_class = 0;          // of the block that holds this header (and small data)
  Deleter deleter = nullptr;         // for foreign memory; gets `context`
  union {
    void* context = nullptr;  // its own; of memory that recorded ops will fill, what they know of it (record/)
    uint64_t device_address;  // of memory off the CPU
  };
  uint64_t id = 0;  // identity for recording; see storage_id

  // Where its bytes are on its device; 0: it has none.
  uint64_t address() const {
    return device.type == DeviceType::CPU ? reinterpret_cast<uint64_t>(host) : device_address;
  }
};
static_assert(sizeof(Storage) == 64 && std::is_trivially_destructible_v<Storage>);

// The caching allocator (core/allocator.h) makes storages; the header and small data share one block.
Ref<Storage> allocate_storage(size_t nbytes, Device device = {});
// A storage of `nbytes` on the CPU without memory, which fill_storage gives it.
Ref<Storage> make_unfilled_storage(size_t nbytes);
void fill_storage(Storage& storage, void* block);  // a block of size_class(nbytes)
void empty_storage(Storage& storage);              // gives that back
// The memory of `from` becomes that of `to`, which has none and the same size. False: it is not for `from` alone.
bool move_memory(Storage& from, Storage& to);
// Wraps memory owned by somebody else (NumPy, a mapped file); `deleter(storage)` runs once at the end.
Ref<Storage> wrap_storage(void* data, size_t nbytes, Storage::Deleter deleter, void* context);
void destroy(Storage* storage);
// Before an address of its memory leaves: the memory stays where it is from now on, and may be written at any time.
inline void let_escape(Storage& storage) {
  storage.escaped = true;
  storage.resizable = false;
}
// Grows or shrinks in place, keeping the identity and the leading bytes; raises when not resizable.
void resize_storage(Storage& storage, size_t nbytes);
// Assigned on the first request, never reused.
uint64_t storage_id(Storage& storage);

}  // namespace pellucid
