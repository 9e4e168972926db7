// Scratch: per-thread memory for copied blocks and workspaces, reused between kernels.
//
// A block belongs to its Scratch until that is destroyed, so that other code running on the thread meanwhile,
// such as a signal handler between two blocks of work, gets another block.
#pragma once

#include <cstddef>

namespace pellucid {

class Scratch {
 public:
  // `touched`: about how many of the bytes are written. Throws std::bad_alloc.
  Scratch(size_t bytes, size_t touched);
  explicit Scratch(size_t bytes) : Scratch(bytes, bytes) {}
  ~Scratch();
  Scratch(Scratch&& other) noexcept : block_(other.block_) { other.block_.start = nullptr; }
  Scratch& operator=(Scratch&&) = delete;

  char* data() const { return block_.start; }  // page-aligned

  struct Block {
    char* start = nullptr;
    size_t bytes = 0;
    bool huge = false;  // of huge pages, where touching one byte takes two MiB
  };

 private:
  Block block_;
};

}  // namespace pellucid
