// DevicePool: suballocates the memory of one device type, which comes from its Backend.
//
// A block belongs to the stream that was current when it was allocated. Once freed it is reused by that stream
// only, without synchronisation, because the stream executes in order. Freeing a block records an event on every
// other stream that used it (`record_use`); the block becomes free when these events have completed. A stream that is
// being captured gets its event afterwards: nothing outside of a capture may await its events. The
// bookkeeping is separate from the memory, whose addresses are opaque, and its lock is never held during a call
// of the backend: a backend written in Python takes the interpreter's lock.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "core/backend.h"

namespace pellucid {

// A quantity over time; `taken` and `given` are the totals added and subtracted.
struct MemoryCount {
  int64_t current = 0, peak = 0, taken = 0, given = 0;
  void add(int64_t amount);
};

struct MemoryCounts {
  MemoryCount blocks, allocated, requested;  // count, bytes of blocks, bytes requested
  MemoryCount segments, reserved;            // count and bytes of the backend's allocations
  int64_t retries = 0, failures = 0;  // allocations that succeeded after freeing cached memory; that failed even then
};

class DevicePool {
 public:
  DevicePool(Backend& backend, const PoolOptions& options);
  ~DevicePool();

  // nbytes > 0. Raises the backend's out-of-memory error only if freeing the cached memory did not help.
  uint64_t allocate(Device device, size_t nbytes);
  void release(Device device, uint64_t address) noexcept;
  // Notes that a stream other than the block's own uses the block that contains `address`.
  void record_use(Device device, uint64_t address, int64_t stream);
  // Returns segments without live blocks to the backend, once their streams have finished with them.
  void empty(Device device);

  // Begins a capture by the backend. Memory allocated on its streams meanwhile comes from a pool of the graph's own,
  // which lives until as many calls of `drop_pool` as of `begin_capture`. Pool 0 makes a new one. Returns its number.
  int64_t begin_capture(Device device, int64_t stream, int64_t pool, int mode);
  int64_t new_pool(Device device);  // the number of a pool for the graphs that are given it
  // Called by the backend when `stream` waits for work of the captured stream `other`.
  void join_capture(Device device, int64_t stream, int64_t other);
  uint64_t end_capture(Device device, int64_t stream);  // returns the backend's graph
  // The stream on which the capture began that a stream belongs to.
  std::optional<int64_t> capture_of(Device device, int64_t stream) const;
  void drop_pool(Device device, int64_t pool);

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
  struct Ledger;  // of one device
  Ledger& ledger_of(Device device) const { return *ledgers_[static_cast<size_t>(device.index)]; }
  size_t block_size(size_t nbytes) const;
  uint64_t take_new(Device device, size_t nbytes, size_t size);
  uint64_t add_segment(Device device, size_t nbytes, size_t size, size_t segment);
  void finish_awaited(Device device, bool wait);
  void finish_stream(Device device, int64_t stream);
  void finish_release(Device device, uint64_t address);

  Backend& backend_;
  const PoolOptions options_;
  std::array<std::unique_ptr<Ledger>, INT8_MAX + 1> ledgers_;
};

}  // namespace pellucid
