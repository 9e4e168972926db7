// Inverses, solutions of linear systems and determinants, by LAPACK's LU of the transpose.
//
// A row-major A passed in place is Aᵀ. Its inverse, read the same way, is that of A. A system A X = B is Xᵀ Aᵀ =
// Bᵀ, whose three matrices are all in place.
#include <cmath>

#include "library/linear_algebra.h"
#include "library/matrices.h"
#include "library/small_systems.h"
#include "library/svd.h"

namespace pellucid {
namespace lapack {
namespace {

// Whether an inverse is meaningful: no diagonal element of U is lost in the rounding errors of the others.
template <class T, class Diagonal>
bool is_regular(int64_t n, Diagonal&& diagonal) {
  Real<T> least = std::numeric_limits<Real<T>>::infinity(), greatest = 0;
  for (int64_t k = 0; k < n; ++k) {
    const Real<T> size = std::abs(diagonal(k));
    least = std::min(least, size);
    greatest = std::max(greatest, size);
  }
  return least > greatest * 100 * n * std::numeric_limits<Real<T>>::epsilon();
}

// Aᵀ = P L U for one A after another; the same A is not factored twice in a row.
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

  // From Xᵀ P L U = Bᵀ: P's column exchanges are row exchanges of the row-major X.
  void solve(T* x, Int columns) const {
    Int info;
    if (columns == 1) {
      return routines_.getrs('T', n_, 1, a_, n_, pivots_, x, n_, info, 1);
    } else {
      routines_.trsm('R', 'U', 'N', 'N', columns, n_, T{1}, a_, n_, x, columns, 1, 1, 1, 1);
      routines_.trsm('R', 'L', 'N', 'U', columns, n_, T{1}, a_, n_, x, columns, 1, 1, 1, 1);
    }
    for (int64_t row = n_ - 1; row >= 0; --row)
      if (const int64_t other = pivots_[row] - 1; other != row)
        std::swap_ranges(x + row * columns, x + (row + 1) * columns, x + other * columns);
  }

  // Overwrites the factors.
  void invert(T* to) {
    of_ = nullptr;
    T answer{};
    Int info;
    routines_.getri(n_, nullptr, n_, nullptr, &answer, -1, info);
    const Int lwork = workspace_size(answer);
    const Workspace<T> work(lwork);
    routines_.getri(n_, a_, n_, pivots_, work, lwork, info);
    std::copy_n(static_cast<T*>(a_), int64_t{n_} * n_, to);
  }

  T determinant() const {
    T product{1};
    for (int64_t k = 0; k < n_; ++k) product *= exchanges(k) ? -diagonal(k) : diagonal(k);
    return product;
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

// Runs `body(system, first, size)` for groups of small matrices, which are factored.
template <class T, class Body>
void each_system(const Matrices<T>& matrices, int64_t work_of_each, Body&& body) {
  share_groups<T>(matrices.count, work_of_each, [&](int64_t first, int64_t last) {
    SmallSystem<T> system(matrices.rows);
    for (int64_t k = first; k < last; k += kMatrices<T>) {
      const auto group = group_of<T>(k, last, [&](int64_t matrix) { return matrices[matrix]; });
      system.find(group);
      body(system, k, group.count);
    }
  });
}

template <class T>
void undefine(T* to, int64_t size) {
  std::fill_n(to, size, T(std::numeric_limits<Real<T>>::quiet_NaN()));
}

template <class T>
void inv_of_few_rows(const Matrices<T>& from, const Matrices<T>& to, int32_t* infos) {
  each_system<T>(from, 2 * cube(from.rows), [&](const SmallSystem<T>& system, int64_t first, int count) {
    const Workspace<Numbers<T>> inverse(from.size());
    system.invert(inverse);
    group_of<T>(first, first + count, [&](int64_t matrix) { return to[matrix]; }).store(inverse, from.size());
    for (int k = 0; k < count; ++k)
      if (infos[first + k] = system.info(k); infos[first + k]) undefine(to[first + k], to.size());
  });
}

// A singular matrix has no inverse: the result is NaN, and the info is set.
template <class T>
void inv(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]), to(*call.outputs[0]);
  int32_t* infos = call.outputs[1]->host_as<int32_t>();
  if (are_small<T>(from.rows, from.count)) return inv_of_few_rows<T>(from, to, infos);
  share_matrices(from.count, 2 * cube(from.rows), [&](int64_t first, int64_t last) {
    Factored<T> factored(routines, from.rows);
    for (int64_t k = first; k < last; ++k) {
      factored.find(from[k]);
      infos[k] = factored.info();
      if (!infos[k]) factored.invert(to[k]);
      else undefine(to[k], to.size());
    }
  });
}

// The matrices of a broadcast batch.
template <class T>
struct Operand {
  Operand(TensorImpl& tensor, const TensorImpl& result) : matrices(tensor), places(tensor, result) {}
  T* operator[](int64_t k) const { return matrices[places[k]]; }

  Matrices<T> matrices;
  BroadcastBatch places;
};

// Whether computing in groups, with `columns` right-hand sides, costs less than a LAPACK call per matrix.
template <class T>
bool are_few(const Matrices<T>& a, const Matrices<T>& x) {
  return are_small<T>(a.rows, x.count) && (x.count >= kMatrices<T> || x.columns <= 4 * kFewAlone);
}

// Runs `body(a, x)` for groups of small matrices and their right-hand sides, which it solves in place.
template <class T, class Body>
void each_equation(const Operand<T>& a, const Operand<T>& b, const Matrices<T>& x, Body&& body) {
  const int64_t size = a.matrices.size();
  share_groups<T>(x.count, cube(a.matrices.rows) + 2 * size * x.columns, [&](int64_t first, int64_t last) {
    const Workspace<Numbers<T>> found(x.size());
    for (int64_t k = first; k < last; k += kMatrices<T>) {
      group_of<T>(k, last, [&](int64_t matrix) { return b[matrix]; }).load(found, x.size());
      body(group_of<T>(k, last, [&](int64_t matrix) { return a[matrix]; }), k, static_cast<Numbers<T>*>(found));
      group_of<T>(k, last, [&](int64_t matrix) { return x[matrix]; }).store(found, x.size());
    }
  });
}

template <class T>
void solve(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> x(*call.outputs[0]);
  int32_t* infos = call.outputs[1]->host_as<int32_t>();
  const Operand<T> of_a(*call.inputs[0], *call.outputs[0]), of_b(*call.inputs[1], *call.outputs[0]);
  const Matrices<T>& a = of_a.matrices;
  const Matrices<T>& b = of_b.matrices;
  if (are_few(a, x))
    return each_equation<T>(of_a, of_b, x, [&](const Group<T>& group, int64_t first, Numbers<T>* found) {
      SmallSystem<T> system(a.rows);
      system.find(group);
      for (int k = 0; k < group.count; ++k) infos[first + k] = system.info(k);
      system.solve(found, x.columns);
    });
  share_matrices(x.count, cube(a.rows) + 2 * a.size() * b.columns, [&](int64_t first, int64_t last) {
    Factored<T> factored(routines, a.rows);
    for (int64_t k = first; k < last; ++k) {
      factored.find(of_a[k]);
      infos[k] = factored.info();
      std::copy_n(of_b[k], b.size(), x[k]);
      factored.solve(x[k], b.columns);
    }
  });
}

template <class T>
void solve_triangular(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> x(*call.outputs[0]);
  const Operand<T> of_a(*call.inputs[0], *call.outputs[0]), of_b(*call.inputs[1], *call.outputs[0]);
  const Matrices<T>& a = of_a.matrices;
  const Matrices<T>& b = of_b.matrices;
  const bool is_upper = is_set(call, "upper"), is_unit = is_set(call, "unitriangular");
  const Int n = a.rows, columns = b.columns;
  if (are_few(a, x))
    return each_equation<T>(of_a, of_b, x, [&](const Group<T>& group, int64_t, Numbers<T>* found) {
      solve_small_triangle<T>(group, n, is_upper, is_unit, found, columns);
    });
  const char triangle = is_upper ? 'L' : 'U';  // of the transpose
  const char diagonal = is_unit ? 'U' : 'N';
  share_matrices(x.count, a.size() * columns, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      std::copy_n(of_b[k], b.size(), x[k]);
      const T* matrix = of_a[k];
      if (columns == 1) routines.trsm('L', triangle, 'T', diagonal, n, 1, T{1}, matrix, n, x[k], n, 1, 1, 1, 1);
      else routines.trsm('R', triangle, 'N', diagonal, columns, n, T{1}, matrix, n, x[k], columns, 1, 1, 1, 1);
    }
  });
}

template <class T>
void det(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]);
  T* to = call.outputs[0]->host_as<T>();
  if (are_small<T>(from.rows, from.count))
    return each_system<T>(from, cube(from.rows), [&](const SmallSystem<T>& system, int64_t first, int count) {
      const Numbers<T> determinants = system.determinant();
      for (int k = 0; k < count; ++k) to[first + k] = number_of<T>(determinants, k);
    });
  share_matrices(from.count, cube(from.rows), [&](int64_t first, int64_t last) {
    Factored<T> factored(routines, from.rows);
    for (int64_t k = first; k < last; ++k) {
      factored.find(from[k]);
      to[k] = factored.determinant();
    }
  });
}

// factor / |factor|; for real numbers also if both are infinite.
template <class T>
T sign_of(T factor, Real<T> size) {
  if constexpr (std::is_same_v<T, Real<T>>) return static_cast<T>((factor > 0) - (factor < 0));
  else return size == 0 ? T{} : factor / size;
}

// Sign and logarithm of a determinant, from the diagonal of U.
template <class T>
struct SignedLogarithm {
  void multiply(T factor) {
    const Real<T> size = std::abs(factor);
    sign *= sign_of(factor, size);
    logarithm += std::log(size);
  }

  T sign{1};
  Real<T> logarithm{};
};

template <class T>
void slogdet(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]);
  T* signs = call.outputs[0]->host_as<T>();
  Real<T>* logarithms = call.outputs[1]->host_as<Real<T>>();
  const auto give = [&](int64_t matrix, auto&& factor) {
    SignedLogarithm<T> found;
    for (int64_t i = 0; i < from.rows; ++i) found.multiply(factor(i));
    signs[matrix] = found.sign;
    logarithms[matrix] = found.logarithm;
  };
  if (are_small<T>(from.rows, from.count))
    return each_system<T>(from, cube(from.rows), [&](const SmallSystem<T>& system, int64_t first, int count) {
      for (int k = 0; k < count; ++k)
        give(first + k, [&](int64_t i) {
          const T factor = number_of<T>(system.diagonal(i), k);
          return system.exchanges(i, k) ? -factor : factor;
        });
    });
  share_matrices(from.count, cube(from.rows), [&](int64_t first, int64_t last) {
    Factored<T> factored(routines, from.rows);
    for (int64_t k = first; k < last; ++k) {
      factored.find(from[k]);
      give(k, [&](int64_t i) { return factored.exchanges(i) ? -factored.diagonal(i) : factored.diagonal(i); });
    }
  });
}

// The cofactors of a singular matrix: adj(U S Vᴴ) = det(U Vᴴ) V adj(S) Uᴴ.
template <class T>
class CofactorsBySvd {
 public:
  CofactorsBySvd(const Routines<T>& routines, Int n)
      : routines_(routines), n_(n), svd_(routines, 'A', n, n, n, n), of_vectors_(routines, n), values_(n) {}

  bool find(const T* from, T* to) {
    if (!svd_.find(from, values_)) return false;
    of_vectors_.find(svd_.u());
    T sign = of_vectors_.determinant();
    of_vectors_.find(svd_.vh());
    sign *= of_vectors_.determinant();
    for (int64_t k = 0; k < n_; ++k) {
      Real<T> others = 1;
      for (int64_t j = 0; j < n_; ++j) others *= j == k ? 1 : values_[j];
      for (int64_t i = 0; i < n_; ++i) svd_.u()[k * n_ + i] *= others;
    }
    // The product conjugates U and so yields the adjoint of the result; both are read row by row
    const Workspace<T> product(int64_t{n_} * n_);
    routines_.gemm('N', 'N', n_, n_, n_, T{1}, svd_.u(), n_, svd_.vh(), n_, T{}, product, n_, 1, 1);
    for (int64_t k = 0; k < int64_t{n_} * n_; ++k) {
      if constexpr (is_complex<T>) to[k] = sign * std::conj(product[k]);
      else to[k] = sign * product[k];
    }
    return true;
  }

 private:
  const Routines<T>& routines_;
  Int n_;
  Svd<T> svd_;
  Factored<T> of_vectors_;
  Workspace<Real<T>> values_;
};

// det(A) A⁻¹ where that is well-defined.
template <class T>
void adjugate(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]), to(*call.outputs[0]);
  const auto find_by_svd = [&](int64_t k) {
    if (!CofactorsBySvd<T>(routines, from.rows).find(from[k], to[k])) undefine(to[k], to.size());  // infinities and NaN
  };
  if (are_small<T>(from.rows, from.count))
    return each_system<T>(from, 2 * cube(from.rows), [&](const SmallSystem<T>& system, int64_t first, int count) {
      const Workspace<Numbers<T>> inverse(from.size());
      system.invert(inverse);
      const Numbers<T> determinant = system.determinant();
      for (int64_t i = 0; i < from.size(); ++i) inverse[i] *= determinant;
      group_of<T>(first, first + count, [&](int64_t matrix) { return to[matrix]; }).store(inverse, from.size());
      for (int k = 0; k < count; ++k)
        if (!is_regular<T>(from.rows, [&](int64_t i) { return number_of<T>(system.diagonal(i), k); }))
          find_by_svd(first + k);
    });
  share_matrices(from.count, 2 * cube(from.rows), [&](int64_t first, int64_t last) {
    Factored<T> factored(routines, from.rows);
    for (int64_t k = first; k < last; ++k) {
      factored.find(from[k]);
      const T determinant = factored.determinant();
      if (factored.info() || !is_regular<T>(from.rows, [&](int64_t i) { return factored.diagonal(i); })) {
        find_by_svd(k);
        continue;
      }
      factored.invert(to[k]);
      for (int64_t i = 0; i < to.size(); ++i) to[k][i] *= determinant;
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
  PELLUCID_LAPACK_ROUTINE("adjugate", adjugate);
}

}  // namespace pellucid
