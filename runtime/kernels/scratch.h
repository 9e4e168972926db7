// Scratch: memory that a thread keeps between kernels, for copied blocks and workspaces.
//
// A block belongs to its Scratch until that is gone, so whatever else the thread runs meanwhile, such as
// a signal handler between two blocks of work, gets another one.
#pragma once

#include <cstddef>

namespace pellucid {

class Scratch {
 public:
  // `touched`: how many of them are written, about. Throws std::bad_alloc.
  Scratch(size_t bytes, size_t touched);
  explicit Scratch(size_t bytes) : Scratch(bytes, bytes) {}
  ~Scratch();
  Scratch(Scratch&& other) noexcept : block_(other.block_) { other.block_.start = nullptr; }
  Scratch& operator=(Scratch&&) = delete;

  char* data() const { return block_.start; }  // aligned to a page

  struct Block {
    char* start = nullptr;
    size_t bytes = 0;
    bool huge = false;  // of huge pages, of which the first byte touched takes two MiB
  };

 private:
  Block block_;
};

}  // namespace pellucid
