// Backend: the interface that a device type other than the CPU implements. Only the memory functions are mandatory.
//
// Addresses are opaque numbers of the device; nothing in the runtime dereferences them. Every function may be
// called from any thread, on memory written by earlier calls of this interface, and reports errors by throwing,
// except `release`, which must not throw. Whatever a backend does not launch runs on the CPU: ops/device_op.h for
// ops, plan/host_step.h for steps.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/keys.h"
#include "core/philox_generator.h"
#include "core/storage.h"

namespace pellucid {

struct Launch;  // kernels/device_launch.h
struct OpCall;
class DevicePool;

// How a backend's memory is suballocated (core/device_pool.h). None: one allocation of the backend per block.
enum class PoolPolicy : uint8_t { None, BestFit, FirstFit, SizeClasses };
struct PoolOptions {
  PoolPolicy policy = PoolPolicy::None;
  size_t alignment = 1;              // of block addresses and sizes; a power of two
  size_t padding = 0;                // bytes after each block that belong to it
  size_t segment = size_t{1} << 20;  // the minimum size of one allocation from the backend
  bool poison = false;               // freed blocks are filled with one bits: NaN in every float
  size_t color = 0;                  // bytes of a memory bank: blocks start at banks in turn; 0: anywhere
};

// What to do when a step cannot be launched and runs on the CPU.
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
  // Whether `launch` can run anything.
  virtual bool launches_kernels() const { return false; }
  // Runs a kernel and returns its status (kernels/kernel_ref.h); nullopt: the kernel runs on the CPU.
  virtual std::optional<int64_t> launch(const Launch&) { return std::nullopt; }
  // Whether products are launched with guards (LaunchOperand), rather than with a copy of what they read.
  virtual bool takes_guards() const { return false; }
  // Runs an op as a whole, by a library of the device's; false: it runs as on other devices.
  virtual bool run_op(Device, OpCall&) { return false; }
  virtual void synchronize(Device) {}

  // Copies that may return before they have run, from or to memory of `allocate_pinned`.
  virtual void start_to_host(Device device, void* to, uint64_t from, size_t nbytes) {
    to_host(device, to, from, nbytes);
  }
  virtual void start_from_host(Device device, uint64_t to, const void* from, size_t nbytes) {
    from_host(device, to, from, nbytes);
  }
  // Page-locked memory of the host, never released; null: the device has no use for it.
  virtual void* allocate_pinned(size_t /*nbytes*/) { return nullptr; }
  virtual bool has_pinned_memory() const { return false; }

  // Streams are in-order queues of work; stream 0 is each device's default. Copies and launches go to the thread's
  // current stream, and `to_host` returns when its copy is complete. Without streams every call is synchronous.
  virtual bool has_streams() const { return false; }
  virtual int64_t new_stream(Device, int /*priority*/) { return 0; }  // the lower the number, the earlier it runs
  virtual uint64_t record(Device, int64_t /*stream*/) { return 0; }   // an event: marks the current end of the stream
  virtual uint64_t record_timed(Device device, int64_t stream) { return record(device, stream); }  // for `elapsed`
  virtual void wait(Device, int64_t /*stream*/, uint64_t /*event*/) {}  // later work of the stream waits for the event
  virtual bool is_done(Device, uint64_t /*event*/) { return true; }
  virtual void finish(Device, uint64_t /*event*/) {
  }  // returns when the event has completed; raises failures of kernels
  virtual void outwait(Device device, uint64_t event) { finish(device, event); }  // leaves failures for `finish`
  virtual double elapsed(Device, uint64_t, uint64_t) { return 0; }                // milliseconds between two events
  virtual void drop_event(Device, uint64_t /*event*/) noexcept {}                 // nothing will name the event again
  virtual bool is_alive() const { return true; }  // false: the backend may no longer be called

  // Graphs: what is queued on a stream between the first two calls is recorded instead, to be repeated as a whole.
  // A stream that waits for an event of the recording joins it. DevicePool begins and ends it, and keeps the memory of
  // a graph apart. `mode` is what programs may call meanwhile, numbered as CUstreamCaptureMode.
  virtual void begin_capture(Device device, int64_t stream, int mode);
  virtual uint64_t end_capture(Device, int64_t /*stream*/) { return 0; }
  virtual void replay(Device, uint64_t /*graph*/, int64_t /*stream*/) {}
  virtual void drop_graph(Device, uint64_t /*graph*/) noexcept {}

  // Whether the devices have random generators of their own, else they draw from the CPU's.
  virtual bool has_generators() const { return false; }

  // Called for every step that runs on the CPU instead of the device.
  virtual void note_fallback(const std::string& /*op*/, const char* /*kernel*/) {}

  DeviceType type = DeviceType::CPU;  // set when the backend is added
  std::atomic<FallbackPolicy> policy{FallbackPolicy::Allow};
  std::atomic<uint64_t> launches{0}, fallbacks{0};  // number of steps launched, and run on the CPU
  DevicePool* pool = nullptr;                       // set when the backend is added; lives as long as the backend
  std::vector<Ref<PhiloxGenerator>> generators;     // the default ones, set when the backend is added; empty: none
};

// Makes `name` a device type served by `backend` for the life of the process. The type is the one already named so,
// else `wanted`, else the first free one. Raises a Runtime error if no type is free or the type already has a backend.
DeviceType add_backend(std::string_view name, std::unique_ptr<Backend> backend, std::optional<DeviceType> wanted = {},
                       const PoolOptions& pool = {});
Backend* find_backend(DeviceType type);  // null: the type has no backend

// CUDA's backend is looked for at its first use: `find` is called once, with a lock held.
struct FoundBackend {
  std::unique_ptr<Backend> backend;  // null: there is none
  std::string why_not;               // a sentence for errors; empty: there is no driver
  PoolOptions pool;
};
void find_cuda_with(FoundBackend (*find)());
std::string why_no_cuda();

Backend& backend_of(Device device);  // raises if the device is absent

// The device as tensors have it: `twin` becomes the thread's current device of that type, and the CPU has no index.
// Raises for a device that does not exist.
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

Key key_of_device(DeviceType type);  // of a user-defined backend

// For storages of any device: zero-fill, copy from the CPU, copy to the CPU. They do nothing on Meta.
void clear_storage(Storage& storage);
void write_storage(Storage& storage, const void* bytes, size_t nbytes);
void read_storage(const Storage& storage, void* bytes, size_t nbytes);  // raises if it has no memory

// Raises unless tensors can be allocated on the device.
void require_device(Device device);

}  // namespace pellucid
