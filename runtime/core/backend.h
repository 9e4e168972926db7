// Backend: what serves a kind of devices beside the CPU. Memory is all that it must have.
//
// Addresses are numbers of the device's own; nothing in the runtime dereferences them. Every function may be called
// from any thread, on memory that was written by earlier calls of this interface, and raises by throwing; `release`
// must not. What a backend does not launch runs on the CPU: device/host_call.h for ops, plan/host_step.h for steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/keys.h"
#include "core/storage.h"

namespace pellucid {

struct Launch;  // kernels/device_launch.h

// What happens where a step cannot be launched and runs on the CPU.
enum class FallbackPolicy : uint8_t { Allow, Warn, Error };

class Backend {
 public:
  virtual ~Backend() = default;
  virtual int device_count() = 0;
  virtual uint64_t allocate(Device device, size_t nbytes) = 0;  // nbytes > 0; the address is not 0
  virtual void release(Device device, uint64_t address, size_t nbytes) noexcept = 0;
  virtual void to_host(Device device, void* to, uint64_t from, size_t nbytes) = 0;
  virtual void from_host(Device device, uint64_t to, const void* from, size_t nbytes) = 0;
  // Within a device; the ranges do not overlap.
  virtual void copy_within(Device device, uint64_t to, uint64_t from, size_t nbytes);
  // Whether `launch` may run something.
  virtual bool launches_kernels() const { return false; }
  // Runs a kernel, and gives its status (kernels/kernel_ref.h); none: it runs on the CPU.
  virtual std::optional<int64_t> launch(const Launch&) { return std::nullopt; }
  virtual void synchronize(Device) {}
  // Told of every step that runs on the CPU in a device's place.
  virtual void note_fallback(const std::string& /*op*/, const char* /*kernel*/) {}

  DeviceType type = DeviceType::CPU;  // set when it is added
  std::atomic<FallbackPolicy> policy{FallbackPolicy::Allow};
  std::atomic<uint64_t> launches{0}, fallbacks{0};  // steps of either kind
};

// Makes `name` a device type served by `backend`, for as long as the process lives: the type that has the name already,
// else `wanted`, or the first that is free. Runtime error when there is none, or the type has a backend.
DeviceType add_backend(std::string_view name, std::unique_ptr<Backend> backend, std::optional<DeviceType> wanted = {});
Backend* find_backend(DeviceType type);  // null: the type has none
Backend& backend_of(Device device);      // raises that the device is absent

// The device with an index: `twin` is the thread's current device of the type. Raises for one that does not exist.
Device with_index(Device device);
int current_device(DeviceType type);
void set_current_device(Device device);

Key key_of_device(DeviceType type);  // of a user's backend

// All its bytes become 0, its first bytes those of the CPU; on any device, nothing on Meta.
void clear_storage(Storage& storage);
void write_storage(Storage& storage, const void* bytes, size_t nbytes);
void read_storage(const Storage& storage, void* bytes, size_t nbytes);  // raises where it has no memory

// Raises unless tensors can be made there.
void require_device(Device device);

}  // namespace pellucid
