// DevicePool: the memory of one type of devices, taken from its Backend and handed out in blocks.
//
// A block belongs to the stream that was current when it was made. Freed, it serves that stream alone, whose work is
// done in order, so nothing is waited for. Other streams that used it (`record_use`) are marked by events when it is
// freed, and it is free once these have passed. The books are apart from the memory, whose addresses are numbers, and
// their lock is never held while the backend is called: a backend in Python takes the interpreter's lock.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "core/backend.h"

namespace pellucid {

// A quantity over time; `taken` and `given` are sums of what was added to it and subtracted.
struct MemoryCount {
  int64_t current = 0, peak = 0, taken = 0, given = 0;
  void add(int64_t amount);
};

struct MemoryCounts {
  MemoryCount blocks, allocated, requested;  // number, bytes of blocks, bytes that were requested
  MemoryCount segments, reserved;            // number and bytes of what the backend gave
  int64_t retries = 0, failures = 0;         // allocations that needed memory back first; that failed even so
};

class DevicePool {
 public:
  DevicePool(Backend& backend, const PoolOptions& options);
  ~DevicePool();

  // nbytes > 0. An out-of-memory error of the backend's is raised after what is cached was given back in vain.
  uint64_t allocate(Device device, size_t nbytes);
  void release(Device device, uint64_t address) noexcept;
  // A stream other than its own uses the block that holds `address`.
  void record_use(Device device, uint64_t address, int64_t stream);
  // Gives segments without live blocks back to the backend, once their streams are done.
  void empty(Device device);

  MemoryCounts counts(Device device) const;
  void reset_peaks(Device device);
  void reset_sums(Device device);

  struct Listed {
    uint64_t address;
    size_t nbytes, requested;
    int64_t stream;
    const char* state;  // "active_allocated", "active_awaiting_free", "inactive"
    bool starts_segment;
  };
  std::vector<Listed> list_blocks(Device device) const;  // by address

 private:
  struct Books;  // of one device
  Books& books_of(Device device) const { return *books_[static_cast<size_t>(device.index)]; }
  size_t block_size(size_t nbytes) const;
  uint64_t take_new(Device device, size_t nbytes, size_t size);
  uint64_t add_segment(Device device, size_t nbytes, size_t size, size_t segment);
  void finish_awaited(Device device, bool wait);
  void finish_release(Device device, uint64_t address);

  Backend& backend_;
  const PoolOptions options_;
  std::array<std::unique_ptr<Books>, INT8_MAX + 1> books_;
};

}  // namespace pellucid
