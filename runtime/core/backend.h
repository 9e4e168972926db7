// Backend: what serves a kind of devices beside the CPU. Memory is all that it must have.
//
// Addresses are numbers of the device's own; nothing in the runtime dereferences them. Every function may be called
// from any thread, on memory that was written by earlier calls of this interface, and raises by throwing; `release`
// must not. What a backend does not launch runs on the CPU: ops/device_op.h for ops, plan/host_step.h for steps.
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
class DevicePool;

// How memory that a backend gives is handed out (core/device_pool.h). None: each block is the backend's own.
enum class PoolPolicy : uint8_t { None, BestFit, FirstFit, SizeClasses };
struct PoolOptions {
  PoolPolicy policy = PoolPolicy::None;
  size_t alignment = 1;              // of addresses and sizes of blocks; a power of two
  size_t padding = 0;                // bytes behind each block that are its own
  size_t segment = size_t{1} << 20;  // the least that the backend gives at once
  bool poison = false;               // freed blocks are filled with ones: NaN in every float
};

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

  // Queues of work in order; 0 is every device's first. Copies and launches go to the thread's current one, and
  // `to_host` returns when it is done. Without streams all is done when a call returns.
  virtual bool has_streams() const { return false; }
  virtual int64_t new_stream(Device) { return 0; }
  virtual uint64_t record(Device, int64_t /*stream*/) { return 0; }     // an event: the stream's present end
  virtual void wait(Device, int64_t /*stream*/, uint64_t /*event*/) {}  // later work of the stream follows it
  virtual bool is_done(Device, uint64_t /*event*/) { return true; }
  virtual void finish(Device, uint64_t /*event*/) {}                // returns when it is done
  virtual double elapsed(Device, uint64_t, uint64_t) { return 0; }  // milliseconds between two events
  virtual bool is_alive() const { return true; }                    // false: the process ends

  // Told of every step that runs on the CPU in a device's place.
  virtual void note_fallback(const std::string& /*op*/, const char* /*kernel*/) {}

  DeviceType type = DeviceType::CPU;  // set when it is added
  std::atomic<FallbackPolicy> policy{FallbackPolicy::Allow};
  std::atomic<uint64_t> launches{0}, fallbacks{0};  // steps of either kind
  DevicePool* pool = nullptr;                       // set when it is added; as long-lived as the backend
};

// Makes `name` a device type served by `backend`, for as long as the process lives: the type that has the name already,
// else `wanted`, or the first that is free. Runtime error when there is none, or the type has a backend.
DeviceType add_backend(std::string_view name, std::unique_ptr<Backend> backend, std::optional<DeviceType> wanted = {},
                       const PoolOptions& pool = {});
Backend* find_backend(DeviceType type);  // null: the type has none
Backend& backend_of(Device device);      // raises that the device is absent

// The device with an index: `twin` is the thread's current device of the type. Raises for one that does not exist.
Device with_index(Device device);
int current_device(DeviceType type);
void set_current_device(Device device);
int64_t current_stream(Device device);  // of this thread
void set_current_stream(Device device, int64_t stream);

// Makes a stream the thread's current one for a scope.
class StreamScope {
 public:
  StreamScope(Device device, int64_t stream) : device_(device), before_(current_stream(device)) {
    set_current_stream(device, stream);
  }
  ~StreamScope() { set_current_stream(device_, before_); }
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

 private:
  const Device device_;
  const int64_t before_;
};

Key key_of_device(DeviceType type);  // of a user's backend

// All its bytes become 0, its first bytes those of the CPU; on any device, nothing on Meta.
void clear_storage(Storage& storage);
void write_storage(Storage& storage, const void* bytes, size_t nbytes);
void read_storage(const Storage& storage, void* bytes, size_t nbytes);  // raises where it has no memory

// Raises unless tensors can be made there.
void require_device(Device device);

}  // namespace pellucid
