// Least squares by LAPACK's gelsy: QR with column pivoting, truncated at the numerical rank.
#include <cmath>

#include "library/linear_algebra.h"
#include "library/matrices.h"

namespace pellucid {
namespace lapack {
namespace {

template <class T>
class LeastSquares {
 public:
  LeastSquares(const Routines<T>& routines, Int m, Int n, Int columns)
      : routines_(routines), m_(m), n_(n), columns_(columns), height_(std::max(m, n)), a_(int64_t{m} * n),
        b_(int64_t{height_} * columns), rwork_(is_complex<T> ? 2 * n : 0), exchanges_(n) {
    T answer{};
    run(0, &answer, -1);
    lwork_ = workspace_size(answer);
  }

  // Returns the rank; `b` and `x` are row-major.
  Int find(const T* a, const T* b, T* x, Real<T> tolerance) const {
    to_columns<T>(a_, a, m_, n_);
    transpose<T>(b_, height_, b, columns_, m_, columns_);
    std::fill_n(static_cast<Int*>(exchanges_), n_, 0);
    const Workspace<T> work(lwork_);
    const Int rank = run(tolerance, work, lwork_);
    from_columns<T>(x, b_, n_, columns_, height_);
    return rank;
  }

 private:
  Int run(Real<T> tolerance, T* work, Int lwork) const {
    Int rank = 0, info = 0;
    if constexpr (is_complex<T>)
      routines_.gelsy(m_, n_, columns_, a_, m_, b_, height_, exchanges_, tolerance, rank, work, lwork, rwork_, info);
    else routines_.gelsy(m_, n_, columns_, a_, m_, b_, height_, exchanges_, tolerance, rank, work, lwork, info);
    return rank;
  }

  const Routines<T>& routines_;
  Int m_, n_, columns_, height_, lwork_ = 1;
  Workspace<T> a_, b_;
  Workspace<Real<T>> rwork_;
  Workspace<Int> exchanges_;
};

template <class T>
void lstsq(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> a(*call.inputs[0]), b(*call.inputs[1]), x(*call.outputs[0]);
  const BroadcastBatch of_a(*call.inputs[0], *call.outputs[0]), of_b(*call.inputs[1], *call.outputs[0]);
  const Real<T> tolerance = *call.inputs[2]->host_as<Real<T>>();
  int64_t* ranks = call.outputs[1]->host_as<int64_t>();
  share_matrices(x.count, 4 * a.size() * std::min(a.rows, a.columns), [&](int64_t first, int64_t last) {
    const LeastSquares<T> found(routines, a.rows, a.columns, b.columns);
    for (int64_t k = first; k < last; ++k) ranks[k] = found.find(a[of_a[k]], b[of_b[k]], x[k], tolerance);
  });
}

}  // namespace
}  // namespace lapack

void register_least_squares() {
  using namespace lapack;
  PELLUCID_LAPACK_ROUTINE("lstsq", lstsq);
}

}  // namespace pellucid
