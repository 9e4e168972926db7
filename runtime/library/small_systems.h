// LU with partial pivoting of the small matrices of a group, and its uses: see matrix_groups.h.
//
// Produces the same factors, pivots and info as getrf and trsm: columns of `n` numbers.
#pragma once

#include "library/matrix_groups.h"

namespace pellucid::lapack {

// Aᵀ = P L U for a row-major A.
template <class T>
class SmallSystem {
 public:
  using N = Numbers<T>;

  explicit SmallSystem(Int n) : n_(n), a_(int64_t{n} * n), pivots_(n) {}

  void find(const Group<T>& matrices) {
    matrices.load(a_, int64_t{n_} * n_);
    info_ = N{};
    for (int64_t k = 0; k < n_; ++k) {
      N* column = a_ + k * n_;
      choose_pivot(column, k);
      const auto is_zero = column[k] == N{};
      info_ = (is_zero & (info_ == N{})) ? number(k + 1) : info_;
      const N divisor = is_zero ? number(1) : column[k];
      for (int64_t i = k + 1; i < n_; ++i) column[i] /= divisor;
      for (int64_t j = k + 1; j < n_; ++j) {
        N* other = a_ + j * n_;
        for (int64_t i = k + 1; i < n_; ++i) other[i] -= column[i] * other[k];
      }
    }
  }

  // From Xᵀ P L U = Bᵀ: P's column exchanges are row exchanges of the row-major X.
  void solve(N* x, int64_t columns) const {
    for (int64_t j = 0; j < n_; ++j) {
      N* to = x + j * columns;
      for (int64_t k = 0; k < j; ++k) subtract(to, x + k * columns, at(k, j), columns);
      for (int64_t i = 0; i < columns; ++i) to[i] /= at(j, j);
    }
    for (int64_t j = n_; j-- > 0;)
      for (int64_t k = j + 1; k < n_; ++k) subtract(x + j * columns, x + k * columns, at(k, j), columns);
    for (int64_t row = n_; row-- > 0;)
      for (int64_t other = row + 1; other < n_; ++other)
        exchange(pivots_[row] == number(other), x + row * columns, x + other * columns, columns, 1);
  }

  void invert(N* to) const {
    std::fill_n(to, int64_t{n_} * n_, N{});
    for (int64_t k = 0; k < n_; ++k) to[k * (n_ + 1)] = number(1);
    solve(to, n_);
  }

  N determinant() const {
    N product = number(1);
    for (int64_t k = 0; k < n_; ++k) product *= pivots_[k] == number(k) ? diagonal(k) : -diagonal(k);
    return product;
  }
  const N& diagonal(int64_t k) const { return at(k, k); }
  bool exchanges(int64_t row, int matrix) const { return number_of<T>(pivots_[row], matrix) != T(row); }
  Int info(int matrix) const { return static_cast<Int>(std::real(number_of<T>(info_, matrix))); }

 private:
  static N number(int64_t k) { return all_equal_to<T>(T(k)); }
  N& at(int64_t row, int64_t column) const { return a_[column * n_ + row]; }

  static void subtract(N* to, const N* from, const N& factor, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] -= from[i] * factor;
  }

  template <class Mask>
  static void exchange(const Mask& mask, N* a, N* b, int64_t count, int64_t step) {
    if (!any(mask)) return;
    for (int64_t i = 0; i < count * step; i += step) {
      const N first = a[i], second = b[i];
      a[i] = mask ? second : first;
      b[i] = mask ? first : second;
    }
  }

  void choose_pivot(const N* column, int64_t k) {
    auto greatest = pivot_size(column[k]);
    pivots_[k] = number(k);
    for (int64_t i = k + 1; i < n_; ++i) {
      const auto size = pivot_size(column[i]);
      const auto is_greater = size > greatest;
      greatest = is_greater ? size : greatest;
      pivots_[k] = is_greater ? number(i) : pivots_[k];
    }
    for (int64_t i = k + 1; i < n_; ++i) exchange(pivots_[k] == number(i), a_ + k, a_ + i, n_, n_);
  }

  Int n_;
  N info_{};
  Workspace<N> a_, pivots_;
};

// Solves A X = B row by row of X. A's other triangle, and the diagonal of a unit triangle, are not read.
template <class T>
void solve_small_triangle(const Group<T>& matrices, int64_t n, bool is_upper, bool is_unit, Numbers<T>* x,
                          int64_t columns) {
  const Workspace<Numbers<T>> a(n * n);
  matrices.load(a, n * n);
  for (int64_t step = 0; step < n; ++step) {
    const int64_t row = is_upper ? n - 1 - step : step;
    Numbers<T>* to = x + row * columns;
    for (int64_t before = 0; before < step; ++before) {
      const int64_t other = is_upper ? n - 1 - before : before;
      for (int64_t i = 0; i < columns; ++i) to[i] -= a[row * n + other] * x[other * columns + i];
    }
    if (is_unit) continue;
    for (int64_t i = 0; i < columns; ++i) to[i] /= a[row * n + row];
  }
}

}  // namespace pellucid::lapack
