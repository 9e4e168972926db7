// Cholesky, LU, QR and L D Lᵀ: LAPACK's potrf, getrf, geqrf and orgqr, sytrf and hetrf.
#include <cmath>
#include <complex>
#include <utility>

#include "library/linear_algebra.h"
#include "library/matrices.h"
#include "library/small_factorizations.h"

namespace pellucid {
namespace lapack {
namespace {

template <class T>
void copy_lower_triangle(T* to, const T* from, int64_t n) {
  for (int64_t row = 0; row < n; ++row) {
    std::copy_n(from + row * n, row + 1, to + row * n);
    std::fill_n(to + row * n + row + 1, n - row - 1, T{});
  }
}

// The order of the first minor whose pivot is NaN, which the routine's blocks do not detect; 0: none is.
template <class T>
Int first_undefined(const T* factor, int64_t n) {
  for (int64_t k = 0; k < n; ++k)
    if (std::isnan(std::real(factor[k * (n + 1)]))) return static_cast<Int>(k + 1);
  return 0;
}

// In place; the lower triangle of a matrix is the upper one of its transpose, whose factor is Lᵀ. Outside the
// largest minor that has a factor, the matrix is unchanged. Returns the info.
template <class T>
Int find_cholesky(const Routines<T>& routines, const T* from, T* to, Int n) {
  Int info;
  copy_lower_triangle(to, from, n);
  routines.potrf('U', n, to, n, info, 1);
  if (!info) info = first_undefined(to, n);
  if (!info) return 0;
  Int unused;
  copy_lower_triangle(to, from, n);
  routines.potrf('U', info - 1, to, n, unused, 1);
  return info;
}

template <class T>
void cholesky(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]), to(*call.outputs[0]);
  int32_t* infos = call.outputs[1]->host_as<int32_t>();
  const Int n = from.rows;
  if constexpr (!is_complex<T>)
    if (are_small<T>(n, from.count))
      return share_groups<T>(from.count, cube(n) / 3, [&](int64_t first, int64_t last) {
        const Workspace<Numbers<T>> a(from.size());
        for (int64_t k = first; k < last; k += kMatrices<T>) {
          const auto group = group_of<T>(k, last, [&](int64_t matrix) { return from[matrix]; });
          group.load(a, from.size());
          const auto is_definite = find_small_cholesky<T>(a, n);
          const auto results = group_of<T>(k, last, [&](int64_t matrix) { return to[matrix]; });
          for (int matrix = 0; matrix < group.count; ++matrix) {
            infos[k + matrix] = 0;
            if (holds_in(is_definite, matrix)) results.store(a, from.size(), matrix);
            else infos[k + matrix] = find_cholesky(routines, from[k + matrix], to[k + matrix], n);
          }
        }
      });
  share_matrices(from.count, cube(n) / 3, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) infos[k] = find_cholesky(routines, from[k], to[k], n);
  });
}

// The order of rows after the pivots' row exchanges, which are numbered from 1.
template <class Pivot>
void order_rows(int64_t* order, int64_t rows, const Pivot* pivots, int64_t count) {
  for (int64_t row = 0; row < rows; ++row) order[row] = row;
  for (int64_t k = 0; k < count; ++k) std::swap(order[k], order[pivots[k] - 1]);
}

template <class T>
void lu(LibraryCall& call, const Routines<T>& routines) {
  if (!is_set(call, "pivot")) return library_fallback(call);  // LAPACK always pivots
  const Matrices<T> from(*call.inputs[0]), to(*call.outputs[0]);
  const Rows<int32_t> pivots(*call.outputs[1]);
  const Rows<int64_t> orders(*call.outputs[2]);
  int32_t* infos = call.outputs[3]->host_as<int32_t>();
  const Int m = from.rows, n = from.columns;
  share_matrices(from.count, from.size() * std::min(m, n), [&](int64_t first, int64_t last) {
    const Workspace<T> a(from.size());
    for (int64_t k = first; k < last; ++k) {
      to_columns<T>(a, from[k], m, n);
      routines.getrf(m, n, a, m, pivots[k], infos[k]);
      from_columns<T>(to[k], a, m, n, m);
      order_rows(orders[k], m, pivots[k], pivots.size);
    }
  });
}

void permutation(LibraryCall& call) {
  const Rows<int64_t> pivots(*call.inputs[0]), orders(*call.outputs[0]);
  if (!call.outputs[0]->numel) return;
  share_matrices(call.outputs[0]->numel / orders.size, orders.size, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      for (int64_t i = 0; i < pivots.size; ++i)
        if (pivots[k][i] < 1 || pivots[k][i] > orders.size)
          raise(ErrorKind::Runtime, "pivot %lld is not a row from 1 to %lld", static_cast<long long>(pivots[k][i]),
                static_cast<long long>(orders.size));
      order_rows(orders[k], orders.size, pivots[k], pivots.size);
    }
  });
}

// R and the Householder vectors, column by column. geqrf and orgqr share the workspace.
template <class T>
struct Reflections {
  Reflections(const Routines<T>& routines, Int m, Int n, Int columns_of_q)
      : routines(routines), m(m), n(n), k(std::min(m, n)), q(columns_of_q), lwork(query_workspace()),
        a(int64_t{m} * std::max(n, q)), tau(k), work(lwork) {}

  Int query_workspace() const {
    T first{}, second{};
    Int info;
    routines.geqrf(m, n, nullptr, m, nullptr, &first, -1, info);
    if (q) routines.orgqr(m, q, k, nullptr, m, nullptr, &second, -1, info);
    return std::max(workspace_size(first), workspace_size(second));
  }

  void find(const T* from, T* factors) const {
    Int info;
    to_columns<T>(a, from, m, n);
    routines.geqrf(m, n, a, m, factors, work, lwork, info);
  }

  const Routines<T>& routines;
  Int m, n, k, q, lwork;
  Workspace<T> a, tau, work;
};

template <class T>
void qr(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]), q(*call.outputs[0]), r(*call.outputs[1]);
  const Int m = from.rows, n = from.columns;
  if constexpr (!is_complex<T>)
    if (are_small<T>(std::max(m, n), from.count))
      return share_groups<T>(from.count, 4 * from.size() * std::min(m, n), [&](int64_t first, int64_t last) {
        SmallQr<T> found(m, n, q.columns);
        for (int64_t k = first; k < last; k += kMatrices<T>) {
          found.find(group_of<T>(k, last, [&](int64_t matrix) { return from[matrix]; }));
          group_of<T>(k, last, [&](int64_t matrix) { return q[matrix]; }).store(found.q(), q.size());
          group_of<T>(k, last, [&](int64_t matrix) { return r[matrix]; }).store(found.r(), r.size());
        }
      });
  share_matrices(from.count, 2 * from.size() * std::min(m, n), [&](int64_t first, int64_t last) {
    const Reflections<T> found(routines, m, n, q.columns);
    for (int64_t k = first; k < last; ++k) {
      found.find(from[k], found.tau);
      from_columns<T>(r[k], found.a, r.rows, n, m);
      for (int64_t row = 1; row < r.rows; ++row) std::fill_n(r[k] + row * n, std::min<int64_t>(row, n), T{});
      Int info;
      routines.orgqr(m, q.columns, found.k, found.a, m, found.tau, found.work, found.lwork, info);
      from_columns<T>(q[k], found.a, m, q.columns, m);
    }
  });
}

template <class T>
void geqrf(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]), to(*call.outputs[0]);
  const Rows<T> factors(*call.outputs[1]);
  const Int m = from.rows, n = from.columns;
  share_matrices(from.count, 2 * from.size() * std::min(m, n), [&](int64_t first, int64_t last) {
    const Reflections<T> found(routines, m, n, 0);
    for (int64_t k = first; k < last; ++k) {
      found.find(from[k], factors[k]);
      from_columns<T>(to[k], found.a, m, n, m);
    }
  });
}

template <class T>
void ldl(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> from(*call.inputs[0]), to(*call.outputs[0]);
  const Rows<int32_t> pivots(*call.outputs[1]);
  int32_t* infos = call.outputs[2]->host_as<int32_t>();
  const Int n = from.rows;
  auto* factor = is_set(call, "hermitian") ? routines.hetrf : routines.sytrf;
  T answer{};
  Int info;
  factor('L', n, nullptr, n, nullptr, &answer, -1, info, 1);
  const Int lwork = workspace_size(answer);
  share_matrices(from.count, cube(n) / 3, [&](int64_t first, int64_t last) {
    const Workspace<T> a(from.size()), work(lwork);
    for (int64_t k = first; k < last; ++k) {
      to_columns<T>(a, from[k], n, n);
      factor('L', n, a, n, pivots[k], work, lwork, infos[k], 1);
      from_columns<T>(to[k], a, n, n, n);
      for (int64_t row = 0; row < n; ++row) std::fill_n(to[k] + row * n + row + 1, n - row - 1, T{});
    }
  });
}

// Checks the pivots of a factorization: rows from 1, one for a 1x1 block, and its negative twice for a 2x2 block.
// LAPACK exchanges rows by them without checking.
void check_blocks(const int64_t* pivots, int64_t rows) {
  for (int64_t k = 0; k < rows; ++k) {
    const int64_t pivot = pivots[k];
    const bool is_1x1_block = pivot < 0 && (k + 1 == rows || pivots[k + 1] != pivot);
    if (pivot == 0 || pivot > rows || pivot < -rows || is_1x1_block)
      raise(ErrorKind::Runtime,
            "ldl_solve: pivot %lld is invalid for a matrix of %lld rows. Pivots count from 1; those of a 2x2 block\n"
            "are negative and repeated. Pass the pivots that ldl_factor returned.",
            static_cast<long long>(pivot), static_cast<long long>(rows));
    if (pivot < 0) ++k;
  }
}

template <class T>
void ldl_solve(LibraryCall& call, const Routines<T>& routines) {
  const Matrices<T> packed(*call.inputs[0]), b(*call.inputs[2]), x(*call.outputs[0]);
  const Rows<int64_t> pivots(*call.inputs[1]);
  const BroadcastBatch of_packed(*call.inputs[0], *call.outputs[0]), of_b(*call.inputs[2], *call.outputs[0]);
  auto* solve = is_set(call, "hermitian") ? routines.hetrs : routines.sytrs;
  const Int n = packed.rows, columns = b.columns;
  share_matrices(x.count, packed.size() * columns, [&](int64_t first, int64_t last) {
    const Workspace<T> a(packed.size()), found(b.size());
    const Workspace<Int> rows(n);
    for (int64_t k = first; k < last; ++k) {
      const int64_t matrix = of_packed[k];
      check_blocks(pivots[matrix], n);
      to_columns<T>(a, packed[matrix], n, n);
      std::copy_n(pivots[matrix], n, static_cast<Int*>(rows));
      to_columns<T>(found, b[of_b[k]], n, columns);
      Int info;
      solve('L', n, columns, a, n, rows, found, n, info, 1);
      from_columns<T>(x[k], found, n, columns, n);
    }
  });
}

}  // namespace
}  // namespace lapack

void register_factorizations() {
  using namespace lapack;
  PELLUCID_LAPACK_ROUTINE("cholesky", cholesky);
  PELLUCID_LAPACK_ROUTINE("lu", lu);
  PELLUCID_LAPACK_ROUTINE("qr", qr);
  PELLUCID_LAPACK_ROUTINE("geqrf", geqrf);
  PELLUCID_LAPACK_ROUTINE("ldl", ldl);
  PELLUCID_LAPACK_ROUTINE("ldl_solve", ldl_solve);
  register_library_routine("permutation", permutation);
}

}  // namespace pellucid
