// Storage: a reference-counted block of bytes on one device, and the version cell that in-place writes bump.
//
// `host` is the address that the CPU may read and write. A storage on another device has no `host` but an
// `address` that is meaningless to the CPU. A device's memory comes from its Backend (core/backend.h).
//
// The version cell is shared by every view and by `detach`; `.data` gives a tensor of the same storage a cell of
// its own. `escaped` means that the memory can be written from outside (NumPy, DLPack), `resizable` that it may
// move because no address of it has been exposed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/ref.h"

namespace pellucid {

// PyTorch's device types with its numbers, and two more for user-defined backends. A type without a Backend
// (core/backend.h) has a name, and its devices are reported as absent.
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
  PrivateUse,  // user-defined backends: core/device_names.h
  PrivateUse2,
  PrivateUse3,
};
struct Device {
  DeviceType type = DeviceType::CPU;
  int8_t index = -1;
  bool operator==(const Device&) const = default;
};

// Raises that a device is absent, with the type and the first words of PyTorch's error.
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
  std::atomic<uint16_t> awaited{0};  // number of pending recorded ops that read it: see before_write (core/hooks.h)
  int16_t size_class = -1;           // of the data's block; -1: foreign memory
  int16_t header_class = 0;          // of the block with this header (and small data)
  Deleter deleter = nullptr;         // for foreign memory; receives `context`
  union {
    void* context = nullptr;  // the deleter's; for memory that recorded ops will fill, the recorder's (record/)
    uint64_t device_address;  // of memory on another device
  };
  uint64_t id = 0;  // identity for recording; see storage_id

  // Where its bytes are on its device; 0 if it has none.
  uint64_t address() const {
    return device.type == DeviceType::CPU ? reinterpret_cast<uint64_t>(host) : device_address;
  }
};
static_assert(sizeof(Storage) == 64 && std::is_trivially_destructible_v<Storage>);

// Allocated by the caching allocator (core/allocator.h); the header and small data share one block.
Ref<Storage> allocate_storage(size_t nbytes, Device device = {});
// A CPU storage of `nbytes` without memory, which fill_storage supplies.
Ref<Storage> make_unfilled_storage(size_t nbytes);
void fill_storage(Storage& storage, void* block);  // a block of size_class(nbytes)
void empty_storage(Storage& storage);              // releases the block
// Moves the memory of `from` to `to`, which has none and the same size. False: `from` shares its memory.
bool move_memory(Storage& from, Storage& to);
// Wraps foreign memory (NumPy, a mapped file); `deleter(storage)` is called once at the end.
Ref<Storage> wrap_storage(void* data, size_t nbytes, Storage::Deleter deleter, void* context);
void destroy(Storage* storage);
// Must be called before an address of the memory is exposed: from then on the memory never moves, and may be
// written at any time.
inline void let_escape(Storage& storage) {
  storage.escaped = true;
  storage.resizable = false;
}
// Grows or shrinks the storage in place, preserving its identity and leading bytes; raises if it is not resizable.
void resize_storage(Storage& storage, size_t nbytes);
// Assigned at the first request, never reused.
uint64_t storage_id(Storage& storage);

}  // namespace pellucid
