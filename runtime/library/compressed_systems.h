// Linear systems of compressed sparse matrices (pellucid/sparse/_ops/systems.py).
#pragma once

#include "library/patterns.h"

namespace pellucid {

// A square matrix by rows, as sparse tensors have it: `values[p]` is in column `columns[p]` of the row whose range
// `pointers[row] .. pointers[row + 1]` includes p.
struct CompressedMatrix {
  patterns::Indices pointers, columns;
  const Tensor& values;
};

// Overwrites B, a contiguous matrix of the values' dtype, with the solution X of T X = B. T is the upper or lower
// triangle of the matrix, with ones on the diagonal if it `is_unit`. The other triangle is not used; an absent
// diagonal element is 0. RuntimeError for pointers or columns that are out of range.
void solve_triangle(const CompressedMatrix& matrix, bool is_upper, bool is_unit, const Tensor& b);

}  // namespace pellucid
