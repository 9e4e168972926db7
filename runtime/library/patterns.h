// Patterns: where elements of sparse tensors are, as sorted keys and row pointers (pellucid/sparse/_ops/patterns.py).
//
// Structure only: values follow by gathers and sums, which are ops. Numbers that users wrote are checked before they
// are used as places; RuntimeError says which does not fit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/tensor.h"

namespace pellucid::patterns {

using Indices = std::span<const int64_t>;

// The distinct keys in order, and of each element the number of its key among them.
struct Distinct {
  Tensor keys, numbers;
};
Distinct distinct(Indices keys);

// The union of two lists of keys, each sorted and distinct. `first` and `second`: of each key its place in that list;
// the list's length where it has none.
struct Union {
  Tensor keys, first, second;
};
Union merged(Indices first, Indices second);
// The same row by row, of columns that are sorted in each row.
struct RowUnion {
  Tensor pointers, columns, first, second;
};
RowUnion merged_rows(Indices first_pointers, Indices first_columns, Indices second_pointers, Indices second_columns);

// The row of each of `count` elements, whose rows begin at `pointers`.
Tensor row_numbers(Indices pointers, int64_t count);
// Where each of `rows` rows begins, and the last one ends, among sorted numbers of rows.
Tensor row_pointers(Indices numbers, int64_t rows);
// The most elements of a row.
int64_t longest_row(Indices pointers);
// Keys as indices, a row of the result for each dim.
Tensor unravelled(Indices keys, Indices sizes);

// Of the product of two matrices by rows: `pointers` and `columns` of the result, in order, and of each term where its
// factors are among the values of both and which element it adds to.
struct Product {
  Tensor pointers, columns, first, second, elements;
};
Product multiplied(Indices first_pointers, Indices first_columns, Indices second_pointers, Indices second_columns,
                   int64_t num_columns);

}  // namespace pellucid::patterns
