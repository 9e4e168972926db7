// Splits an extent into pieces.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pellucid {

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// At most `wanted` pieces, as equal as multiples of `step` allow, larger ones first, so that threads that take
// pieces in turn finish together. The last step may be short.
struct Cut {
  Cut(int64_t extent, int64_t wanted, int64_t step)
      : extent(extent), step(step), steps(ceil_div(extent, step)),
        count(std::clamp<int64_t>(wanted, 1, std::max<int64_t>(steps, 1))), piece(ceil_div(steps, count) * step) {}
  int64_t begin(int64_t index) const { return (index * (steps / count) + std::min(index, steps % count)) * step; }
  int64_t size(int64_t index) const { return std::min(begin(index + 1), extent) - begin(index); }
  int64_t extent, step, steps, count;
  int64_t piece;  // the size of the largest
};

}  // namespace pellucid
