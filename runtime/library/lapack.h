// LAPACK: the routines used by linear algebra, for the four dtypes it supports.
//
// They come with OpenBLAS from the package `scipy-openblas32`, which is opened at first use and runs on the calling
// thread: batches are distributed over our threads, so results do not depend on their number. Without the package,
// the routines' definitions in NumPy run instead, as tile programs run where there is no compiler.
// Arguments are named as in LAPACK's documentation; the `size_t` at the end of a signature are string lengths, one for
// each `char`, as Fortran passes them. Read next: library/matrices.h, which passes matrices to these routines.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace pellucid {

// The path of the shared library, or an empty string; installed by the bindings, which find packages.
extern std::string (*find_lapack)();

namespace lapack {

using Int = int32_t;

template <class T>
struct RealPart {
  using type = T;
};
template <class T>
struct RealPart<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealPart<T>::type;
template <class T>
constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

template <class T>
struct Routines {
  // Products and triangular systems
  void (*gemm)(const char& transa, const char& transb, const Int& m, const Int& n, const Int& k, const T& alpha,
               const T* a, const Int& lda, const T* b, const Int& ldb, const T& beta, T* c, const Int& ldc, size_t,
               size_t);
  void (*trsm)(const char& side, const char& uplo, const char& trans, const char& diag, const Int& m, const Int& n,
               const T& alpha, const T* a, const Int& lda, T* b, const Int& ldb, size_t, size_t, size_t, size_t);
  // Factorizations and routines that use them
  void (*potrf)(const char& uplo, const Int& n, T* a, const Int& lda, Int& info, size_t);
  void (*getrf)(const Int& m, const Int& n, T* a, const Int& lda, Int* ipiv, Int& info);
  void (*getri)(const Int& n, T* a, const Int& lda, const Int* ipiv, T* work, const Int& lwork, Int& info);
  void (*getrs)(const char& trans, const Int& n, const Int& nrhs, const T* a, const Int& lda, const Int* ipiv, T* b,
                const Int& ldb, Int& info, size_t);
  void (*geqrf)(const Int& m, const Int& n, T* a, const Int& lda, T* tau, T* work, const Int& lwork, Int& info);
  void (*orgqr)(const Int& m, const Int& n, const Int& k, T* a, const Int& lda, const T* tau, T* work, const Int& lwork,
                Int& info);
  using RealGelsy = void(const Int& m, const Int& n, const Int& nrhs, T* a, const Int& lda, T* b, const Int& ldb,
                         Int* jpvt, const T& rcond, Int& rank, T* work, const Int& lwork, Int& info);
  using ComplexGelsy = void(const Int& m, const Int& n, const Int& nrhs, T* a, const Int& lda, T* b, const Int& ldb,
                            Int* jpvt, const Real<T>& rcond, Int& rank, T* work, const Int& lwork, Real<T>* rwork,
                            Int& info);
  std::conditional_t<is_complex<T>, ComplexGelsy, RealGelsy>* gelsy;
  using Sytrf = void(const char& uplo, const Int& n, T* a, const Int& lda, Int* ipiv, T* work, const Int& lwork,
                     Int& info, size_t);
  using Sytrs = void(const char& uplo, const Int& n, const Int& nrhs, const T* a, const Int& lda, const Int* ipiv, T* b,
                     const Int& ldb, Int& info, size_t);
  Sytrf *sytrf, *hetrf;
  Sytrs *sytrs, *hetrs;
  // Eigenvalues and singular values; complex forms also take a real workspace
  using RealSyevd = void(const char& jobz, const char& uplo, const Int& n, T* a, const Int& lda, T* w, T* work,
                         const Int& lwork, Int* iwork, const Int& liwork, Int& info, size_t, size_t);
  using ComplexSyevd = void(const char& jobz, const char& uplo, const Int& n, T* a, const Int& lda, Real<T>* w, T* work,
                            const Int& lwork, Real<T>* rwork, const Int& lrwork, Int* iwork, const Int& liwork,
                            Int& info, size_t, size_t);
  using RealGeev = void(const char& jobvl, const char& jobvr, const Int& n, T* a, const Int& lda, T* wr, T* wi, T* vl,
                        const Int& ldvl, T* vr, const Int& ldvr, T* work, const Int& lwork, Int& info, size_t, size_t);
  using ComplexGeev = void(const char& jobvl, const char& jobvr, const Int& n, T* a, const Int& lda, T* w, T* vl,
                           const Int& ldvl, T* vr, const Int& ldvr, T* work, const Int& lwork, Real<T>* rwork,
                           Int& info, size_t, size_t);
  using RealGesdd = void(const char& jobz, const Int& m, const Int& n, T* a, const Int& lda, T* s, T* u, const Int& ldu,
                         T* vt, const Int& ldvt, T* work, const Int& lwork, Int* iwork, Int& info, size_t);
  using ComplexGesdd = void(const char& jobz, const Int& m, const Int& n, T* a, const Int& lda, Real<T>* s, T* u,
                            const Int& ldu, T* vt, const Int& ldvt, T* work, const Int& lwork, Real<T>* rwork,
                            Int* iwork, Int& info, size_t);
  std::conditional_t<is_complex<T>, ComplexSyevd, RealSyevd>* syevd;
  std::conditional_t<is_complex<T>, ComplexGeev, RealGeev>* geev;
  std::conditional_t<is_complex<T>, ComplexGesdd, RealGesdd>* gesdd;
};

struct Library {
  Routines<float> float32;
  Routines<double> float64;
  Routines<std::complex<float>> complex64;
  Routines<std::complex<double>> complex128;
};

// Null if the package is not installed.
const Library* library();

}  // namespace lapack
}  // namespace pellucid
