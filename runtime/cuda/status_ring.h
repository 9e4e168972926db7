// StatusRing: the status words of a GPU's kernels that can fail (kernels/kernel_ref.h).
//
// A launch takes a word, into which the kernel writes its first failure. When the program has waited for the stream,
// the words of its launches are copied and read; a failure raises the CPU's error there, and the device stays usable.
// Words of captured launches belong to the graph and are read after each replay.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/storage.h"
#include "cuda/driver.h"

namespace pellucid::cuda {

class StatusRing {
 public:
  struct Pending {
    uint64_t number;  // of the launch on this GPU
    size_t word;
    int64_t stream;
    std::string op;
    bool is_captured;
  };
  using Launches = std::vector<Pending>;

  StatusRing(const Driver& driver, Device device);  // with the GPU's context current, as for all others

  // The address of a launch's word. Waits for the GPU when all words are in use.
  uint64_t take(int64_t stream, const char* op);
  uint64_t count() const;  // of launches until now

  // Reads the words of the stream's launches up to a number, which have run; of all launches without one.
  void raise_failures(int64_t stream, uint64_t launches);
  void raise_failures();

  void begin_capture(int64_t stream);
  Launches end_capture(int64_t stream);
  void repeat(const Launches& launches, int64_t stream);
  void give_back(const Launches& launches);

 private:
  template <class IsDone>
  void read(IsDone&& is_done);

  const Driver& driver_;
  const Device device_;
  uint64_t address_ = 0;
  Handle stream_ = nullptr;  // of its own: copies do not wait for later work
  std::vector<size_t> free_;
  std::vector<Pending> pending_;
  std::map<int64_t, Launches> captured_;  // by the streams that are being captured
  uint64_t count_ = 0;
};

}  // namespace pellucid::cuda
