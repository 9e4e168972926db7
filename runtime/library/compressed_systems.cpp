#include "library/compressed_systems.h"

#include <algorithm>
#include <complex>
#include <string>

#include "core/error.h"
#include "core/thread_pool.h"

namespace pellucid {
namespace {

constexpr int64_t kTogether = 64;  // columns of B that one thread solves for

// Solves for some columns of B: a row of X needs the rows of the columns that T has there.
template <class T>
class Triangle {
 public:
  Triangle(const CompressedMatrix& matrix, bool is_upper, bool is_unit)
      : matrix_(matrix), values_(reinterpret_cast<const T*>(matrix.values->host())), is_upper_(is_upper),
        is_unit_(is_unit) {}

  void solve(T* b, int64_t stride, int64_t columns) const {
    const int64_t rows = static_cast<int64_t>(matrix_.pointers.size()) - 1;
    for (int64_t step = 0; step < rows; ++step) {
      const int64_t row = is_upper_ ? rows - 1 - step : step;
      solve_row(row, b, stride, columns);
    }
  }

 private:
  void solve_row(int64_t row, T* b, int64_t stride, int64_t columns) const {
    T* const own = b + row * stride;
    T diagonal{0};
    for (int64_t p = matrix_.pointers[row]; p < matrix_.pointers[row + 1]; ++p) {
      const int64_t column = matrix_.columns[p];
      const T value = values_[p];
      if (column == row) diagonal += value;
      if (is_upper_ ? column <= row : column >= row) continue;
      const T* const other = b + column * stride;
      for (int64_t j = 0; j < columns; ++j) own[j] -= value * other[j];
    }
    if (is_unit_) return;
    for (int64_t j = 0; j < columns; ++j) own[j] /= diagonal;
  }

  const CompressedMatrix& matrix_;
  const T* values_;
  const bool is_upper_, is_unit_;
};

template <class T>
void solve(const CompressedMatrix& matrix, bool is_upper, bool is_unit, const Tensor& b) {
  const Triangle<T> triangle(matrix, is_upper, is_unit);
  T* const data = reinterpret_cast<T*>(b->host());
  const int64_t columns = b->shape()[1];
  parallel_blocks((columns + kTogether - 1) / kTogether, [&](int64_t block) {
    const int64_t first = block * kTogether;
    triangle.solve(data + first, columns, std::min(kTogether, columns - first));
  });
}

void require_square(const CompressedMatrix& matrix, const Tensor& b) {
  patterns::require_pointers(matrix.pointers, static_cast<int64_t>(matrix.columns.size()));
  const int64_t rows = static_cast<int64_t>(matrix.pointers.size()) - 1;
  if (matrix.values->numel != static_cast<int64_t>(matrix.columns.size()) || b->shape()[0] != rows)
    raise(ErrorKind::Runtime, "a matrix of %lld rows and %lld elements has %lld values and a right side of %lld rows",
          static_cast<long long>(rows), static_cast<long long>(matrix.columns.size()),
          static_cast<long long>(matrix.values->numel), static_cast<long long>(b->shape()[0]));
  for (int64_t column : matrix.columns)
    if (column < 0 || column >= rows)
      raise(ErrorKind::Runtime, "a sparse matrix of %lld columns has an element in column %lld",
            static_cast<long long>(rows), static_cast<long long>(column));
}

}  // namespace

void solve_triangle(const CompressedMatrix& matrix, bool is_upper, bool is_unit, const Tensor& b) {
  require_square(matrix, b);
  switch (b->dtype) {
    case DType::Float32: return solve<float>(matrix, is_upper, is_unit, b);
    case DType::Float64: return solve<double>(matrix, is_upper, is_unit, b);
    case DType::Complex64: return solve<std::complex<float>>(matrix, is_upper, is_unit, b);
    case DType::Complex128: return solve<std::complex<double>>(matrix, is_upper, is_unit, b);
    default: break;
  }
  raise(ErrorKind::NotImplemented,
        "triangular solve: sparse matrices are of float32, float64 or complex numbers, not %s",
        std::string(name(b->dtype)).c_str());
}

}  // namespace pellucid
