// Cholesky and QR of the small real matrices of a group: see matrix_groups.h. Matrices are row-major.
#pragma once

#include "library/matrix_groups.h"

namespace pellucid::lapack {

// Replaces A, whose lower triangle is read, by L with A = L Lᵀ. Returns the lanes whose matrix is not positive
// definite; their results are meaningless.
template <class T>
auto find_small_cholesky(Vector<T>* a, int64_t n) {
  auto is_definite = Vector<T>{} == Vector<T>{};
  for (int64_t j = 0; j < n; ++j) {
    Vector<T>* row = a + j * n;
    for (int64_t k = 0; k < j; ++k) row[j] -= row[k] * row[k];
    is_definite &= row[j] > 0;
    row[j] = root(row[j]);
    for (int64_t i = j + 1; i < n; ++i) {
      Vector<T>* lower = a + i * n;
      for (int64_t k = 0; k < j; ++k) lower[j] -= lower[k] * row[k];
      lower[j] /= row[j];
      row[i] = Vector<T>{};
    }
  }
  return is_definite;
}

// Householder reflections, chosen as by geqrf and orgqr.
template <class T>
class SmallQr {
 public:
  SmallQr(Int m, Int n, Int columns_of_q)
      : m_(m), n_(n), columns_(columns_of_q), a_(int64_t{m} * n), q_(int64_t{m} * columns_of_q),
        factors_(std::min(m, n)) {}

  void find(const Group<T>& matrices) {
    matrices.load(a_, int64_t{m_} * n_);
    const int64_t reflections = std::min(m_, n_);
    for (int64_t k = 0; k < reflections; ++k) {
      factors_[k] = find_reflection(k);
      reflect(k, a_, n_, k + 1, n_);
    }
    std::fill_n(static_cast<V*>(q_), int64_t{m_} * columns_, V{});
    for (int64_t k = 0; k < columns_; ++k) q_[k * (columns_ + 1)] = V{} + T{1};
    for (int64_t k = reflections; k-- > 0;) reflect(k, q_, columns_, k, columns_);
    for (int64_t row = 1; row < m_; ++row) std::fill_n(a_ + row * n_, std::min<int64_t>(row, n_), V{});
  }
  const Vector<T>* q() const { return q_; }
  const Vector<T>* r() const { return a_; }

 private:
  using V = Vector<T>;

  // The Householder vector of column k from the diagonal on: 1, then the values stored below the column's diagonal.
  V find_reflection(int64_t k) {
    V largest{};
    for (int64_t i = k + 1; i < m_; ++i) largest = greater_of(largest, absolute(at(i, k)));
    const auto is_zero = largest == V{};
    V& head = at(k, k);
    const V scale = is_zero ? V{} + T{1} : greater_of(largest, absolute(head));
    V squares = (head / scale) * (head / scale);
    for (int64_t i = k + 1; i < m_; ++i) squares += (at(i, k) / scale) * (at(i, k) / scale);
    const V norm = scale * root(squares), beta = head < 0 ? norm : -norm;
    const V divisor = is_zero ? V{} + T{1} : head - beta;
    for (int64_t i = k + 1; i < m_; ++i) at(i, k) /= divisor;
    const V factor = is_zero ? V{} : (beta - head) / beta;
    head = is_zero ? head : beta;
    return factor;
  }

  void reflect(int64_t k, V* matrix, int64_t width, int64_t first, int64_t last) const {
    for (int64_t j = first; j < last; ++j) {
      V product = matrix[k * width + j];
      for (int64_t i = k + 1; i < m_; ++i) product += at(i, k) * matrix[i * width + j];
      product *= factors_[k];
      matrix[k * width + j] -= product;
      for (int64_t i = k + 1; i < m_; ++i) matrix[i * width + j] -= at(i, k) * product;
    }
  }

  V& at(int64_t row, int64_t column) const { return a_[row * n_ + column]; }

  Int m_, n_, columns_;
  Workspace<V> a_, q_, factors_;
};

}  // namespace pellucid::lapack
