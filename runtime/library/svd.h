// Singular values and vectors of matrices, one at a time, with LAPACK's workspaces.
#pragma once

#include <cmath>

#include "library/matrices.h"

namespace pellucid::lapack {

// The iterations of gesdd and syevd may not terminate on infinities; linalg.eig rejects them itself.
template <class T>
bool are_finite(const T* numbers, int64_t count) {
  const auto* parts = reinterpret_cast<const Real<T>*>(numbers);
  bool finite = true;
  for (int64_t i = 0; i < count * static_cast<int64_t>(sizeof(T) / sizeof(Real<T>)); ++i)
    finite &= std::isfinite(parts[i]);
  return finite;
}

// gesdd: job 'A' for square U and Vᴴ, 'S' for the vectors of singular values, 'N' for none.
template <class T>
class Svd {
 public:
  Svd(const Routines<T>& routines, char job, Int m, Int n, Int columns_of_u, Int rows_of_vh)
      : routines_(routines), job_(job), m_(m), n_(n), columns_of_u_(columns_of_u), rows_of_vh_(rows_of_vh),
        a_(int64_t{m} * n), u_(int64_t{m} * columns_of_u), vh_(int64_t{rows_of_vh} * n), rwork_(size_of_rwork()),
        iwork_(8 * int64_t{std::min(m, n)}), lwork_(query_workspace()), work_(lwork_) {}

  bool find(const T* from, Real<T>* values) const {
    if (!are_finite(from, int64_t{m_} * n_)) return false;
    to_columns<T>(a_, from, m_, n_);
    return run(values, work_, lwork_) == 0;
  }
  T* u() const { return u_; }  // column-major
  T* vh() const { return vh_; }
  void give_u(T* to) const { from_columns<T>(to, u_, m_, columns_of_u_, m_); }
  void give_vh(T* to) const { from_columns<T>(to, vh_, rows_of_vh_, n_, rows_of_vh_); }

 private:
  int64_t size_of_rwork() const {
    if (!is_complex<T>) return 1;
    const int64_t less = std::min(m_, n_), more = std::max(m_, n_);
    return job_ == 'N' ? 7 * less : less * std::max(5 * less + 7, 2 * more + 2 * less + 1);
  }
  Int query_workspace() const {
    T answer{};
    run(nullptr, &answer, -1);
    return workspace_size(answer);
  }
  Int run(Real<T>* values, T* work, Int lwork) const {
    Int info = 0;
    const Int height = std::max(Int{1}, rows_of_vh_);
    if constexpr (is_complex<T>)
      routines_.gesdd(job_, m_, n_, a_, m_, values, u_, m_, vh_, height, work, lwork, rwork_, iwork_, info, 1);
    else routines_.gesdd(job_, m_, n_, a_, m_, values, u_, m_, vh_, height, work, lwork, iwork_, info, 1);
    return info;
  }

  const Routines<T>& routines_;
  char job_;
  Int m_, n_, columns_of_u_, rows_of_vh_;
  Workspace<T> a_, u_, vh_;
  Workspace<Real<T>> rwork_;
  Workspace<Int> iwork_;
  Int lwork_;
  Workspace<T> work_;
};

}  // namespace pellucid::lapack
