// The indices of the true elements of a bool tensor, found block by block on all threads.
#pragma once

#include <span>
#include <vector>

#include "core/tensor.h"

namespace pellucid {

class TrueFlags {
 public:
  explicit TrueFlags(TensorImpl& flags);  // row-major; outlives this

  int64_t count() const { return starts_.back(); }
  // Writes the coordinates of each, as the rows of a matrix.
  void write_places(int64_t* out) const;

 private:
  int64_t num_blocks() const { return static_cast<int64_t>(starts_.size()) - 1; }
  int64_t end_of(int64_t block) const;
  void write(std::span<const int64_t> places, int64_t* out) const;
  template <int kRank>
  void write_rows(std::span<const int64_t> places, int64_t* out) const;

  const TensorImpl& flags_;
  const uint8_t* const data_;    // 0 and 1
  std::vector<int64_t> starts_;  // the number of true elements before each block, and in total
};

}  // namespace pellucid
