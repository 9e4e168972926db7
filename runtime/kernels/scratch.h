// Scratch: memory that a thread keeps between kernels, for copied blocks and workspaces.
//
// A block belongs to its Scratch until that is gone, so whatever else the thread runs meanwhile, such as
// a signal handler between two blocks of work, gets another one.
#pragma once

#include <cstddef>

namespace pellucid {

class Scratch {
 public:
  explicit Scratch(size_t bytes);   // throws std::bad_alloc
  ~Scratch();
  Scratch(Scratch&& other) noexcept : start_(other.start_), bytes_(other.bytes_) { other.start_ = nullptr; }
  Scratch& operator=(Scratch&&) = delete;

  char* data() const { return start_; }   // aligned to a page

 private:
  char* start_;
  size_t bytes_;
};

}  // namespace pellucid
