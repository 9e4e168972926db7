// Which columns of a panel are inside a zero-padded operand, such as the image of a convolution.
//
// This depends on the index in a few dims of the operand, which is the sum of a part from the column and a part
// from k. The parts of k repeat (every channel has the same taps), so that a vector of columns needs only one
// mask per distinct k-part, whatever the depth. Used by product_panels.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/axes.h"

namespace pellucid {

class WindowLanes {
 public:
  static constexpr int64_t kMaxKinds = 256;  // of k

  // Whether k has few kinds.
  static bool fits(std::span<const Axis> depth);

  WindowLanes(const Beyond& beyond, std::span<const Axis> columns, std::span<const Axis> depth, int64_t first,
              int64_t count);

  // The kind of every k.
  static void kinds_of(std::span<const Axis> depth, std::span<int64_t> kinds);

  // Bit i of masks[kind]: whether column `first + i` is inside. Columns are counted from the constructor's first.
  void find(int64_t first, int64_t count, uint64_t* masks) const;

 private:
  struct Dim {
    int64_t size;
    std::vector<int64_t> columns;    // the columns' part of the index
    std::vector<int64_t> values;     // the distinct parts from k
    std::vector<uint16_t> value_of;  // by kind: which of these
  };
  void add_dim(const Beyond& beyond, int dim, std::span<const Axis> columns, std::span<const Axis> moving,
               int64_t first, int64_t count);

  int64_t kinds_ = 1;
  std::vector<Dim> dims_;
};

}  // namespace pellucid
