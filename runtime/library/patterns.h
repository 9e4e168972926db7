// Patterns: the positions of elements of sparse tensors, as sorted keys and row pointers
// (pellucid/sparse/_ops/patterns.py).
//
// Structure only: values follow by gathers and sums, which are ops. Numbers from users are checked before they
// are used as indices; a RuntimeError names the first invalid one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace pellucid::patterns {

using Indices = std::span<const int64_t>;

// RuntimeError unless the pointers start at 0, do not decrease and end at `count`.
void require_pointers(Indices pointers, int64_t count);

// The elements of `indices`, whose rows are dims of these sizes, grouped by position: the distinct positions in
// row-major order (a row per dim), the elements group by group in their order, and the group of each of these.
struct Groups {
  Tensor indices, order, numbers;
};
Groups grouped(const int64_t* indices, int64_t count, Indices sizes);

// The union of two lists of sorted, distinct keys. `first` and `second`: each key's index in that list, or the
// list's length if it is absent there.
struct Union {
  Tensor keys, first, second;
};
Union merged(Indices first, Indices second);
// The same row by row, for columns that are sorted in each row.
struct RowUnion {
  Tensor pointers, columns, first, second;
};
RowUnion merged_rows(Indices first_pointers, Indices first_columns, Indices second_pointers, Indices second_columns);

// The row number of each of `count` elements, whose rows start at `pointers`.
Tensor row_numbers(Indices pointers, int64_t count);
// The start of each of `rows` rows, and the end of the last one, among sorted row numbers.
Tensor row_pointers(Indices numbers, int64_t rows);
// The largest number of elements in a row.
int64_t longest_row(Indices pointers);
// Keys converted to indices; the result has one row per dim.
Tensor unravelled(Indices keys, Indices sizes);

// The pattern of the product of two matrices, row by row: `pointers` and `columns` of the result, in order; and
// for each term the indices of its operands among the values of both matrices, and of the result's element to
// which it is added.
struct Product {
  Tensor pointers, columns, first, second, elements;
};
Product multiplied(Indices first_pointers, Indices first_columns, Indices second_pointers, Indices second_columns,
                   int64_t num_columns);

}  // namespace pellucid::patterns
