// The range that a product reads of an operand along each dim, which may exceed the dim; elements outside count
// as zero.
#pragma once

#include <algorithm>
#include <vector>

#include "plan/executor.h"

namespace pellucid {

// The range of indices that a product forms in one dim of an operand.
struct Reach {
  int64_t first, low, high;  // at the first point, the minimum, the maximum
  int64_t steps[kMaxAxes] = {};
  int64_t size;

  Reach(const Frame& frame, const DimMap& dim, const Placement& nest, int64_t size) : size(size) {
    first = low = high = dim.offset == kNoRegister ? 0 : frame.size(dim.offset);
    for (DimTerm term : dim.terms) {
      const int64_t coefficient = term.coefficient == kNoRegister ? 1 : frame.size(term.coefficient);
      steps[term.axis] += coefficient;
      const int64_t reach = coefficient * (nest.extents[term.axis] - 1);
      (reach < 0 ? low : high) += reach;
    }
  }

  bool leaves() const { return low < 0 || high >= size; }
  // The start and size of a copy that holds everything that is read.
  int64_t start() const { return leaves() ? low : 0; }
  int64_t extent() const { return leaves() ? high - low + 1 : size; }
};
using Reaches = std::vector<Reach>;

// Replaces operand `k` of the product by a copy of what it reads, at `address`.
inline void place_copy(const TensorImpl& copy, char* address, const Reaches& reaches, Placement& nest, int k) {
  const int64_t item = static_cast<int64_t>(item_size(copy.dtype));
  nest.data[k] = address;
  std::fill_n(nest.strides[k], nest.axes, 0);
  for (size_t d = 0; d < reaches.size(); ++d) {
    const int64_t stride = copy.strides[d] * item;
    nest.data[k] += (reaches[d].first - reaches[d].start()) * stride;
    for (int axis = 0; axis < nest.axes; ++axis) nest.strides[k][axis] += reaches[d].steps[axis] * stride;
  }
}

}  // namespace pellucid
