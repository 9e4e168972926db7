// Least squares by QR without pivoting, if A is far from losing rank, else by LAPACK's gelsy: QR with column pivoting,
// truncated at the numerical rank.
#include <cmath>

#include "library/linear_algebra.h"
#include "library/matrices.h"

namespace pellucid {
namespace lapack {
namespace {

// How many times the tolerance the ratio of the singular values must be, which is estimated, to skip the pivoting.
constexpr int kMargin = 2;
constexpr int kIterations = 4;

// An upper triangle, column by column, `step` elements apart; operations are in place.
template <class T>
struct Triangle {
  const T* data;
  int64_t step, size;

  const T* column(int64_t k) const { return data + k * step; }

  // The sum of conj(r[i]) x[i], in lanes.
  static T dot(const T* r, const T* x, int64_t count) {
    constexpr int64_t kSums = 16;
    T sums[kSums] = {}, total{};
    const auto add = [](T& sum, T a, T b) {
      if constexpr (is_complex<T>) sum += std::conj(a) * b;
      else sum += a * b;
    };
    int64_t i = 0;
    for (; i + kSums <= count; i += kSums)
      for (int64_t k = 0; k < kSums; ++k) add(sums[k], r[i + k], x[i + k]);
    for (const T sum : sums) total += sum;
    for (; i < count; ++i) add(total, r[i], x[i]);
    return total;
  }
  static T conjugate(T number) {
    if constexpr (is_complex<T>) return std::conj(number);
    else return number;
  }

  void multiply(T* x) const {
    for (int64_t k = 0; k < size; ++k) {
      const T* r = column(k);
      const T factor = x[k];
      for (int64_t i = 0; i < k; ++i) x[i] += r[i] * factor;
      x[k] = r[k] * factor;
    }
  }
  void multiply_adjoint(T* x) const {
    for (int64_t k = size - 1; k >= 0; --k) x[k] = dot(column(k), x, k + 1);
  }
  void divide(T* x) const {
    for (int64_t k = size - 1; k >= 0; --k) {
      const T* r = column(k);
      const T factor = x[k] /= r[k];
      for (int64_t i = 0; i < k; ++i) x[i] -= r[i] * factor;
    }
  }
  void divide_adjoint(T* x) const {
    for (int64_t k = 0; k < size; ++k) x[k] = (x[k] - dot(column(k), x, k)) / conjugate(column(k)[k]);
  }

  // The power method: the norm to which `step` scales vectors in the end.
  template <class Step>
  Real<T> growth(T* x, Step&& step_once) const {
    for (int64_t k = 0; k < size; ++k) x[k] = Real<T>(k % 2 ? -1 : 1) * (1 + Real<T>(k) / Real<T>(size));
    Real<T> norm = 0;
    for (int iteration = 0; iteration <= kIterations; ++iteration) {
      if (iteration) step_once();
      norm = 0;
      for (int64_t k = 0; k < size; ++k) norm += std::norm(x[k]);
      norm = std::sqrt(norm);
      for (int64_t k = 0; k < size; ++k) x[k] /= norm;
    }
    return norm;
  }

  // An estimate of the least singular value over the greatest; not a number or 0 if a diagonal element is 0.
  Real<T> reciprocal_condition(T* scratch) const {
    const Real<T> greatest = growth(scratch, [&] { multiply(scratch), multiply_adjoint(scratch); });
    const Real<T> least = growth(scratch, [&] { divide_adjoint(scratch), divide(scratch); });
    return 1 / (std::sqrt(greatest) * std::sqrt(least));
  }
};

template <class T>
class LeastSquares {
 public:
  LeastSquares(const Routines<T>& routines, Int m, Int n, Int columns)
      : routines_(routines), m_(m), n_(n), columns_(columns), height_(std::max(m, n)), both_(n + columns),
        a_(int64_t{m} * (n + columns)), b_(int64_t{height_} * columns), tau_(both_), rwork_(is_complex<T> ? 2 * n : 0),
        exchanges_(n) {
    T answer{}, of_both{};
    Int info;
    run(0, &answer, -1);
    routines_.geqrf(m_, both_, nullptr, m_, nullptr, &of_both, -1, info);
    lwork_ = std::max(workspace_size(answer), workspace_size(of_both));
  }

  // Returns the rank; `b` and `x` are row-major.
  Int find(const T* a, const T* b, T* x, Real<T> tolerance) const {
    const Workspace<T> work(lwork_);
    if (m_ >= n_ && find_regular(a, b, x, tolerance, work)) return n_;
    to_columns<T>(a_, a, m_, n_);
    transpose<T>(b_, height_, b, columns_, m_, columns_);
    std::fill_n(static_cast<Int*>(exchanges_), n_, 0);
    const Int rank = run(tolerance, work, lwork_);
    from_columns<T>(x, b_, n_, columns_, height_);
    return rank;
  }

 private:
  // By the QR factorization of (A B), whose R is (R, QᴴB). Returns false, and no
  // solution, unless A's rank is clear.
  bool find_regular(const T* a, const T* b, T* x, Real<T> tolerance, T* work) const {
    T* of_b = a_ + int64_t{m_} * n_;
    to_columns<T>(a_, a, m_, n_);
    transpose<T>(of_b, m_, b, columns_, m_, columns_);
    Int info;
    const Real<T> least_ratio = std::max(tolerance, std::numeric_limits<Real<T>>::epsilon());
    routines_.geqrf(m_, both_, a_, m_, tau_, work, lwork_, info);
    if (!(Triangle<T>{a_, m_, n_}.reciprocal_condition(work) > kMargin * least_ratio)) return false;
    routines_.trsm('L', 'U', 'N', 'N', n_, columns_, T{1}, a_, m_, of_b, m_, 1, 1, 1, 1);
    from_columns<T>(x, of_b, n_, columns_, m_);
    return true;
  }

  Int run(Real<T> tolerance, T* work, Int lwork) const {
    Int rank = 0, info = 0;
    if constexpr (is_complex<T>)
      routines_.gelsy(m_, n_, columns_, a_, m_, b_, height_, exchanges_, tolerance, rank, work, lwork, rwork_, info);
    else routines_.gelsy(m_, n_, columns_, a_, m_, b_, height_, exchanges_, tolerance, rank, work, lwork, info);
    return rank;
  }

  const Routines<T>& routines_;
  Int m_, n_, columns_, height_, both_, lwork_ = 1;
  Workspace<T> a_, b_, tau_;
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
