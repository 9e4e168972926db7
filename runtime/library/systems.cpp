// Inverses, solutions of linear systems and determinants, by LAPACK's LU of the transpose.
//
// A row-major A is passed in place, which is Aᵀ. Its inverse, read the same way, is that of A. A
// system A X = B is Xᵀ Aᵀ = Bᵀ, whose three matrices are all in place.
#include <cmath>

#include "library/linear_algebra.h"
#include "library/matrices.h"

namespace pellucid {
namespace lapack {
namespace {

// Aᵀ = P L U for one A after another; a repeated one is not factored again.
template <class T>
class Factored {
 public:
  Factored(const Routines<T>& routines, Int n) : routines_(routines), n_(n), a_(int64_t{n} * n), pivots_(n) {}

  void find(const T* matrix) {
    if (matrix == of_) return;
    std::copy_n(matrix, int64_t{n_} * n_, static_cast<T*>(a_));
    routines_.getrf(n_, n_, a_, n_, pivots_, info_);
    of_ = matrix;
  }

  // From Xᵀ P L U = Bᵀ: the exchanges of P's columns are those of rows of the row-major X.
  void solve(T* x, Int columns) const {
    Int info;
    if (columns == 1) return routines_.getrs('T', n_, 1, a_, n_, pivots_, x, n_, info, 1);
    routines_.trsm('R', 'U', 'N', 'N', columns, n_, T{1}, a_, n_, x, columns, 1, 1, 1, 1);
    routines_.trsm('R', 'L', 'N', 'U', columns, n_, T{1}, a_, n_, x, columns, 1, 1, 1, 1);
    for (int64_t row = n_ - 1; row >= 0; --row)
      if (const int64_t other = pivots_[row] - 1; other != row)
        std::swap_ranges(x + row * columns, x + (row + 1) * columns, x + other * columns);
  }

  T diagonal(int64_t k) const { return a_[k * n_ + k]; }
  bool exchanges(int64_t row) const { return pivots_[row] - 1 != row; }
  Int info() const { return info_; }

 private:
  const Routines<T>& routines_;
  Int n_, info_ = 0;
  Workspace<T> a_;
  Workspace<Int> pivots_;
  const T* of_ = nullptr;
};

// A singular matrix has no inverse to read: NaN, and its info.
template <class T>
void inv(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]), to(*call.outputs[0]);
  int32_t* infos = call.outputs[1]->host_as<int32_t>();
  const Int n = from.rows;
  T answer{};
  Int info;
  routines.getri(n, nullptr, n, nullptr, &answer, -1, info);
  const Int lwork = workspace_size(answer);
  share_matrices(from.count, 2 * cube(n), [&](int64_t first, int64_t last) {
    const Workspace<Int> pivots(n);
    const Workspace<T> work(lwork);
    for (int64_t k = first; k < last; ++k) {
      std::copy_n(from[k], from.size(), to[k]);
      routines.getrf(n, n, to[k], n, pivots, infos[k]);
      Int unused;
      if (!infos[k]) routines.getri(n, to[k], n, pivots, work, lwork, unused);
      else std::fill_n(to[k], to.size(), T(std::numeric_limits<Real<T>>::quiet_NaN()));
    }
  });
}

template <class T>
void solve(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> a(*call.inputs[0]), b(*call.inputs[1]), x(*call.outputs[0]);
  int32_t* infos = call.outputs[1]->host_as<int32_t>();
  const BroadcastBatch of_a(*call.inputs[0], *call.outputs[0]), of_b(*call.inputs[1], *call.outputs[0]);
  share_matrices(x.count, cube(a.rows) + 2 * a.size() * b.columns, [&](int64_t first, int64_t last) {
    Factored<T> factored(routines, a.rows);
    for (int64_t k = first; k < last; ++k) {
      factored.find(a[of_a[k]]);
      infos[k] = factored.info();
      std::copy_n(b[of_b[k]], b.size(), x[k]);
      factored.solve(x[k], b.columns);
    }
  });
}

template <class T>
void solve_triangular(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> a(*call.inputs[0]), b(*call.inputs[1]), x(*call.outputs[0]);
  const BroadcastBatch of_a(*call.inputs[0], *call.outputs[0]), of_b(*call.inputs[1], *call.outputs[0]);
  const char triangle = is_set(call, "upper") ? 'L' : 'U';  // of the transpose
  const char diagonal = is_set(call, "unitriangular") ? 'U' : 'N';
  const Int n = a.rows, columns = b.columns;
  share_matrices(x.count, a.size() * columns, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      std::copy_n(b[of_b[k]], b.size(), x[k]);
      const T* matrix = a[of_a[k]];
      if (columns == 1) routines.trsm('L', triangle, 'T', diagonal, n, 1, T{1}, matrix, n, x[k], n, 1, 1, 1, 1);
      else routines.trsm('R', triangle, 'N', diagonal, columns, n, T{1}, matrix, n, x[k], columns, 1, 1, 1, 1);
    }
  });
}

template <class T>
void det(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]);
  T* to = call.outputs[0]->host_as<T>();
  share_matrices(from.count, cube(from.rows), [&](int64_t first, int64_t last) {
    Factored<T> factored(routines, from.rows);
    for (int64_t k = first; k < last; ++k) {
      factored.find(from[k]);
      T product{1};
      for (int64_t i = 0; i < from.rows; ++i)
        product *= factored.exchanges(i) ? -factored.diagonal(i) : factored.diagonal(i);
      to[k] = product;
    }
  });
}

// factor / |factor|; of real numbers also where both are infinite.
template <class T>
T sign_of(T factor, Real<T> size) {
  if constexpr (std::is_same_v<T, Real<T>>) return static_cast<T>((factor > 0) - (factor < 0));
  else return size == 0 ? T{} : factor / size;
}

template <class T>
void slogdet(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]);
  T* signs = call.outputs[0]->host_as<T>();
  Real<T>* logarithms = call.outputs[1]->host_as<Real<T>>();
  share_matrices(from.count, cube(from.rows), [&](int64_t first, int64_t last) {
    Factored<T> factored(routines, from.rows);
    for (int64_t k = first; k < last; ++k) {
      factored.find(from[k]);
      T sign{1};
      Real<T> logarithm{};
      for (int64_t i = 0; i < from.rows; ++i) {
        const T factor = factored.exchanges(i) ? -factored.diagonal(i) : factored.diagonal(i);
        const Real<T> size = std::abs(factor);
        sign *= sign_of(factor, size);
        logarithm += std::log(size);
      }
      signs[k] = sign;
      logarithms[k] = logarithm;
    }
  });
}

}  // namespace
}  // namespace lapack

void register_systems() {
  using namespace lapack;
  PELLUCID_LAPACK_ROUTINE("inv", inv);
  PELLUCID_LAPACK_ROUTINE("solve", solve);
  PELLUCID_LAPACK_ROUTINE("solve_triangular", solve_triangular);
  PELLUCID_LAPACK_ROUTINE("det", det);
  PELLUCID_LAPACK_ROUTINE("slogdet", slogdet);
}

}  // namespace pellucid
