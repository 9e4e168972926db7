// LU of a few rows and columns, for which a call of LAPACK costs more than the work.
//
// The same matrices, pivots and info as getrf and trsm leave: columns of `n` numbers, exchanges counted from 1.
#pragma once

#include <cmath>
#include <utility>

#include "library/lapack.h"

namespace pellucid::lapack {

constexpr Int kFewRows = 12;

template <class T>
Real<T> pivot_size(T x) {
  if constexpr (is_complex<T>) return std::abs(x.real()) + std::abs(x.imag());
  else return std::abs(x);
}

// Column by column, each less what those to its left eliminate.
template <class T>
void factor_few(Int n, T* a, Int* pivots, Int& info) {
  info = 0;
  for (Int k = 0; k < n; ++k) {
    T* column = a + k * n;
    Int pivot = k;
    for (Int i = k + 1; i < n; ++i)
      if (pivot_size(column[i]) > pivot_size(column[pivot])) pivot = i;
    pivots[k] = pivot + 1;
    if (column[pivot] == T{}) {
      if (!info) info = k + 1;
      continue;
    }
    if (pivot != k)
      for (Int j = 0; j < n; ++j) std::swap(a[j * n + k], a[j * n + pivot]);
    for (Int i = k + 1; i < n; ++i) column[i] /= column[k];
    for (Int j = k + 1; j < n; ++j) {
      const T factor = a[j * n + k];
      for (Int i = k + 1; i < n; ++i) a[j * n + i] -= column[i] * factor;
    }
  }
}

// X with X U = B, then X L = B, L's diagonal being 1: B has `rows` rows, columns of `rows` numbers.
template <class T>
void solve_few_from_right(Int rows, Int n, const T* a, T* b) {
  for (Int j = 0; j < n; ++j) {
    T* to = b + j * rows;
    for (Int k = 0; k < j; ++k)
      for (Int i = 0; i < rows; ++i) to[i] -= b[k * rows + i] * a[j * n + k];
    for (Int i = 0; i < rows; ++i) to[i] /= a[j * n + j];
  }
  for (Int j = n; j-- > 0;)
    for (Int k = j + 1; k < n; ++k)
      for (Int i = 0; i < rows; ++i) b[j * rows + i] -= b[k * rows + i] * a[j * n + k];
}

}  // namespace pellucid::lapack
