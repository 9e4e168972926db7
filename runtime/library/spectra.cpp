// Eigenvalues, singular values and pseudo-inverses: LAPACK's syevd and heevd, geev, gesdd.
#include <cmath>

#include "library/linear_algebra.h"
#include "library/matrices.h"
#include "library/small_spectra.h"
#include "library/svd.h"

namespace pellucid {
namespace lapack {
namespace {

[[noreturn]] void raise_not_converged(const LibraryCall& call, int64_t matrix) {
  raise(
      ErrorKind::LinearAlgebra,
      "linalg.%s: the algorithm did not converge for matrix %lld of the batch; matrices that contain infinities or NaN "
      "have no result",
      call.step.name.c_str(), static_cast<long long>(matrix));
}

// syevd with its workspaces. The eigenvectors replace the matrix.
template <class T>
class Eigh {
 public:
  Eigh(const Routines<T>& routines, Int n, char job, char triangle)
      : routines_(routines), n_(n), job_(job), triangle_(triangle) {
    T work{};
    Real<T> rwork{};
    run(nullptr, nullptr, &work, -1, &rwork, -1, &liwork_, -1);
    lwork_ = workspace_size(work);
    lrwork_ = workspace_size(rwork);
  }

  // False if it does not converge.
  bool find(T* a, Real<T>* values) const {
    for (int64_t j = 0; j < n_; ++j)
      if (!(triangle_ == 'U' ? are_finite(a + j * n_, j + 1) : are_finite(a + j * n_ + j, n_ - j))) return false;
    const Workspace<T> work(lwork_);
    const Workspace<Real<T>> rwork(lrwork_);
    const Workspace<Int> iwork(liwork_);
    return run(a, values, work, lwork_, rwork, lrwork_, iwork, liwork_) == 0;
  }

 private:
  Int run(T* a, Real<T>* values, T* work, Int lwork, [[maybe_unused]] Real<T>* rwork, [[maybe_unused]] Int lrwork,
          Int* iwork, Int liwork) const {
    Int info = 0;
    if constexpr (is_complex<T>)
      routines_.syevd(job_, triangle_, n_, a, n_, values, work, lwork, rwork, lrwork, iwork, liwork, info, 1, 1);
    else routines_.syevd(job_, triangle_, n_, a, n_, values, work, lwork, iwork, liwork, info, 1, 1);
    return info;
  }

  const Routines<T>& routines_;
  Int n_, lwork_ = 1, lrwork_ = 1, liwork_ = 1;
  char job_, triangle_;
};

// Whether the referenced triangle of a row-major matrix is finite.
template <class T>
bool is_finite_triangle(const T* matrix, int64_t n, bool is_upper) {
  for (int64_t i = 0; i < n; ++i)
    if (!(is_upper ? are_finite(matrix + i * n + i, n - i) : are_finite(matrix + i * n, i + 1))) return false;
  return true;
}

// Runs `finder.find(group)` over a range of small matrices, then `give(k, place)` for matrix k, which is number
// `place` of the group; a negative place means that the sweeps did not converge.
template <class Finder, class T, class Give>
void find_in_groups(Finder& finder, const Matrices<T>& from, int64_t first, int64_t last, Give&& give) {
  for (int64_t k = first; k < last; k += kMatrices<T>) {
    const auto group = group_of<T>(k, last, [&](int64_t matrix) { return from[matrix]; });
    const bool found = finder.find(group);
    for (int matrix = 0; matrix < group.count; ++matrix) give(k + matrix, found ? matrix : -1);
  }
}

template <class T>
void find_eigh(LibraryCall& call, const Routines<T>& routines, bool with_vectors) {
  const Matrices<T> from(*call.inputs[0]);
  const Rows<Real<T>> values(*call.outputs[0]);
  const Int n = from.rows;
  const bool is_upper = is_set(call, "upper");
  const Eigh<T> eigh(routines, n, with_vectors ? 'V' : 'N', is_upper ? 'U' : 'L');
  const auto vectors_of = [&](int64_t k) { return with_vectors ? Matrices<T>(*call.outputs[1])[k] : nullptr; };
  const auto find_one = [&](int64_t k, T* a) {
    to_columns<T>(a, from[k], n, n);
    if (!eigh.find(a, values[k])) raise_not_converged(call, k);
    if (with_vectors) from_columns<T>(vectors_of(k), a, n, n, n);
  };
  if constexpr (!is_complex<T>)
    if (n <= kFewEigenvalues<T>)
      return share_groups<T>(from.count, 8 * cube(n), [&](int64_t first, int64_t last) {
        SmallEigh<T> small(n, with_vectors, is_upper);
        find_in_groups(small, from, first, last, [&](int64_t k, int place) {
          if (!is_finite_triangle(from[k], n, is_upper)) raise_not_converged(call, k);
          if (place >= 0) small.give(place, values[k], vectors_of(k));
          else find_one(k, Workspace<T>(from.size()));
        });
      });
  share_matrices(from.count, 4 * cube(n), [&](int64_t first, int64_t last) {
    const Workspace<T> a(from.size());
    for (int64_t k = first; k < last; ++k) find_one(k, a);
  });
}
template <class T>
void eigh(LibraryCall& call, const Routines<T>& routines) {
  find_eigh<T>(call, routines, true);
}
template <class T>
void eigvalsh(LibraryCall& call, const Routines<T>& routines) {
  find_eigh<T>(call, routines, false);
}

// geev, whose eigenvectors have length 1. Those of a real matrix are stored in real columns: one for a real
// eigenvalue, real and imaginary part of the first for a conjugate pair.
template <class T>
class Eig {
 public:
  using Complex = std::complex<Real<T>>;

  Eig(const Routines<T>& routines, Int n)
      : routines_(routines), n_(n), vectors_(int64_t{n} * n), parts_(2 * int64_t{n}) {
    T work{};
    run(nullptr, nullptr, &work, -1);
    lwork_ = workspace_size(work);
  }

  bool find(T* a, Complex* values, Complex* vectors) const {
    const Workspace<T> work(lwork_);
    if (run(a, values, work, lwork_) != 0) return false;
    if constexpr (is_complex<T>) from_columns<T>(vectors, vectors_, n_, n_, n_);
    else join_parts(values, vectors);
    return true;
  }

 private:
  Int run(T* a, [[maybe_unused]] Complex* values, T* work, Int lwork) const {
    Int info = 0;
    if constexpr (is_complex<T>)
      routines_.geev('N', 'V', n_, a, n_, values, nullptr, 1, vectors_, n_, work, lwork, parts_, info, 1, 1);
    else routines_.geev('N', 'V', n_, a, n_, parts_, parts_ + n_, nullptr, 1, vectors_, n_, work, lwork, info, 1, 1);
    return info;
  }

  void join_parts(Complex* values, Complex* vectors) const {
    for (int64_t j = 0; j < n_; ++j) {
      values[j] = {parts_[j], parts_[n_ + j]};
      const bool is_second = parts_[n_ + j] < 0, is_real = parts_[n_ + j] == 0;
      const T *real = vectors_ + (is_second ? j - 1 : j) * n_, *imaginary = real + n_;
      for (int64_t i = 0; i < n_; ++i)
        vectors[i * n_ + j] = {real[i], is_real ? T{} : is_second ? -imaginary[i] : imaginary[i]};
    }
  }

  const Routines<T>& routines_;
  Int n_, lwork_ = 1;
  Workspace<T> vectors_;
  Workspace<Real<T>> parts_;
};

template <class T>
void eig(LibraryCall& call, const Routines<T>& routines) {
  using Complex = std::complex<Real<T>>;
  const Matrices<T> from(*call.inputs[0]);
  const Rows<Complex> values(*call.outputs[0]);
  const Matrices<Complex> vectors(*call.outputs[1]);
  const Int n = from.rows;
  share_matrices(from.count, 20 * cube(n), [&](int64_t first, int64_t last) {
    const Workspace<T> a(from.size());
    const Eig<T> found(routines, n);
    for (int64_t k = first; k < last; ++k) {
      to_columns<T>(a, from[k], n, n);
      if (!found.find(a, values[k], vectors[k])) raise_not_converged(call, k);
    }
  });
}

template <class T>
void svd(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]), u(*call.outputs[0]), vh(*call.outputs[2]);
  const Rows<Real<T>> values(*call.outputs[1]);
  const char job = is_set(call, "full_matrices") ? 'A' : 'S';
  const Int m = from.rows, n = from.columns;
  const auto find_one = [&](const Svd<T>& found, int64_t k) {
    if (!found.find(from[k], values[k])) raise_not_converged(call, k);
    found.give_u(u[k]);
    found.give_vh(vh[k]);
  };
  if constexpr (!is_complex<T>)
    if (std::max(m, n) <= kFewSingularValues<T> && u.columns == vh.rows)
      return share_groups<T>(from.count, 10 * from.size() * std::min(m, n), [&](int64_t first, int64_t last) {
        SmallSvd<T> small(m, n, true);
        find_in_groups(small, from, first, last, [&](int64_t k, int place) {
          if (place >= 0 && small.has_vectors(place)) small.give(place, u[k], values[k], vh[k]);
          else find_one(Svd<T>(routines, job, m, n, u.columns, vh.rows), k);
        });
      });
  share_matrices(from.count, 10 * from.size() * std::min(m, n), [&](int64_t first, int64_t last) {
    const Svd<T> found(routines, job, m, n, u.columns, vh.rows);
    for (int64_t k = first; k < last; ++k) find_one(found, k);
  });
}

template <class T>
void svdvals(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]);
  const Rows<Real<T>> values(*call.outputs[0]);
  const Int m = from.rows, n = from.columns;
  if constexpr (!is_complex<T>)
    if (std::max(m, n) <= kFewSingularValues<T>)
      return share_groups<T>(from.count, 6 * from.size() * std::min(m, n), [&](int64_t first, int64_t last) {
        SmallSvd<T> small(m, n, false);
        find_in_groups(small, from, first, last, [&](int64_t k, int place) {
          if (place >= 0 && are_finite(from[k], from.size())) small.give(place, nullptr, values[k], nullptr);
          else if (!Svd<T>(routines, 'N', m, n, 0, 0).find(from[k], values[k])) raise_not_converged(call, k);
        });
      });
  share_matrices(from.count, 4 * from.size() * std::min(m, n), [&](int64_t first, int64_t last) {
    const Svd<T> found(routines, 'N', m, n, 0, 0);
    for (int64_t k = first; k < last; ++k)
      if (!found.find(from[k], values[k])) raise_not_converged(call, k);
  });
}

template <class T>
T conjugate(T x) {
  if constexpr (is_complex<T>) return std::conj(x);
  else return x;
}

// Multiplies the columns by the inverses of the values above the cutoff, and conjugates them.
template <class T>
void scale_by_inverses(T* columns, const Real<T>* values, Real<T> cutoff, int64_t rows, int64_t count) {
  for (int64_t j = 0; j < count; ++j) {
    const Real<T> factor = std::abs(values[j]) > cutoff ? 1 / values[j] : 0;
    for (int64_t i = 0; i < rows; ++i) columns[j * rows + i] = conjugate(columns[j * rows + i]) * factor;
  }
}

// From A = U S Vᴴ, read column by column: the transpose of V S⁻¹ Uᴴ, which is conj(U) S⁻¹ conj(Vᴴ).
template <class T>
void pinv_by_svd(LibraryCall& call, const Routines<T>& routines, const Real<T>* cutoffs) {
  const Matrices<T> from(*call.inputs[0]), to(*call.outputs[0]);
  const Int m = from.rows, n = from.columns, k = std::min(m, n);
  share_matrices(from.count, 10 * from.size() * k, [&](int64_t first, int64_t last) {
    const Svd<T> found(routines, 'S', m, n, k, k);
    const Workspace<Real<T>> values(k);
    for (int64_t at = first; at < last; ++at) {
      if (!found.find(from[at], values)) raise_not_converged(call, at);
      scale_by_inverses<T>(found.u(), values, cutoffs[at], m, k);
      std::transform(found.vh(), found.vh() + int64_t{k} * n, found.vh(), conjugate<T>);
      routines.gemm('N', 'N', m, n, k, T{1}, found.u(), m, found.vh(), k, T{}, to[at], m, 1, 1);
    }
  });
}

// From A = V W Vᴴ likewise: conj(V) W⁻¹ Vᵀ.
template <class T>
void pinv_by_eigh(LibraryCall& call, const Routines<T>& routines, const Real<T>* cutoffs) {
  const Matrices<T> from(*call.inputs[0]), to(*call.outputs[0]);
  const Int n = from.rows;
  const Eigh<T> eigh(routines, n, 'V', 'L');
  share_matrices(from.count, 4 * cube(n), [&](int64_t first, int64_t last) {
    const Workspace<T> vectors(from.size()), scaled(from.size());
    const Workspace<Real<T>> values(n);
    for (int64_t k = first; k < last; ++k) {
      to_columns<T>(vectors, from[k], n, n);
      if (!eigh.find(vectors, values)) raise_not_converged(call, k);
      std::copy_n(static_cast<T*>(vectors), from.size(), static_cast<T*>(scaled));
      scale_by_inverses<T>(scaled, values, cutoffs[k], n, n);
      routines.gemm('N', 'T', n, n, n, T{1}, scaled, n, vectors, n, T{}, to[k], n, 1, 1);
    }
  });
}

template <class T>
void pinv(LibraryCall& call, const Routines<T>& routines) {
  TensorImpl& cutoffs = *call.inputs[1];
  const bool is_one_each = cutoffs.numel == Matrices<T>(*call.inputs[0]).count;
  if (!is_one_each || category(cutoffs.dtype) != DTypeCategory::Floating || item_size(cutoffs.dtype) != sizeof(Real<T>))
    return library_fallback(call);  // it broadcasts and converts
  const auto* numbers = cutoffs.host_as<Real<T>>();
  if (is_set(call, "hermitian")) pinv_by_eigh<T>(call, routines, numbers);
  else pinv_by_svd<T>(call, routines, numbers);
}

}  // namespace
}  // namespace lapack

void register_spectra() {
  using namespace lapack;
  PELLUCID_LAPACK_ROUTINE("eigh", eigh);
  PELLUCID_LAPACK_ROUTINE("eigvalsh", eigvalsh);
  PELLUCID_LAPACK_ROUTINE("eig", eig);
  PELLUCID_LAPACK_ROUTINE("svd", svd);
  PELLUCID_LAPACK_ROUTINE("svdvals", svdvals);
  PELLUCID_LAPACK_ROUTINE("pinv", pinv);
}

}  // namespace pellucid
