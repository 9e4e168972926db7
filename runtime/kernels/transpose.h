// Transposed copies of small rectangles of elements of 1, 4 and 8 bytes, in registers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pellucid {

// Whether copies of tensors should use this.
constexpr bool can_transpose(size_t item) { return item == 4 || item == 8; }

// Moves element (row, column) from `from + column * from_stride + row * item` to `to + row * to_stride + column *
// item`. Strides in bytes.
void transpose(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t rows, int64_t columns,
               size_t item);

}  // namespace pellucid
