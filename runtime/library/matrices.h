// Batches of matrices in the form that LAPACK reads.
//
// Tensors are dense and row-major, LAPACK's matrices column-major. A row-major matrix passed in place is
// therefore its transpose: if a routine has an equivalent form for that, nothing is copied, else matrices are
// transposed on the way in and out. Used only by the routines of this folder.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "core/error.h"
#include "core/thread_pool.h"
#include "kernels/transpose.h"
#include "library/lapack.h"
#include "library/workspace.h"
#include "plan/library.h"

namespace pellucid::lapack {

// The matrices of a dense tensor: its last two dims.
template <class T>
struct Matrices {
  explicit Matrices(TensorImpl& tensor) : data(tensor.host_as<T>()) {
    const int64_t m = tensor.sizes[tensor.ndim - 2], n = tensor.sizes[tensor.ndim - 1];
    if (std::max(m, n) > std::numeric_limits<Int>::max())
      raise(ErrorKind::Runtime, "linear algebra needs matrices of fewer than 2**31 rows and columns; got %lld and %lld",
            static_cast<long long>(m), static_cast<long long>(n));
    rows = static_cast<Int>(m);
    columns = static_cast<Int>(n);
    count = tensor.numel / std::max<int64_t>(1, m * n);
  }

  int64_t size() const { return int64_t{rows} * columns; }
  T* operator[](int64_t k) const { return data + k * size(); }

  T* data;
  Int rows, columns;
  int64_t count;
};

// Rows that accompany the matrices of another tensor, such as pivots.
template <class T>
struct Rows {
  explicit Rows(TensorImpl& tensor) : data(tensor.host_as<T>()), size(tensor.sizes[tensor.ndim - 1]) {}
  T* operator[](int64_t k) const { return data + k * size; }

  T* data;
  int64_t size;
};

// The address of a tensor's matrix for each matrix of the broadcast batch.
class BroadcastBatch {
 public:
  BroadcastBatch(const TensorImpl& tensor, const TensorImpl& result) : batch_(result.shape().first(result.ndim - 2)) {
    strides_.assign(batch_.size(), 0);
    int64_t step = 1;
    for (int dim = tensor.ndim - 3, place = result.ndim - 3; dim >= 0; --dim, --place) {
      if (tensor.sizes[dim] != 1) strides_[place] = step;
      step *= tensor.sizes[dim];
    }
  }

  int64_t operator[](int64_t matrix) const {
    int64_t found = 0;
    for (size_t dim = batch_.size(); dim-- > 0; matrix /= batch_[dim]) found += matrix % batch_[dim] * strides_[dim];
    return found;
  }

 private:
  std::span<const int64_t> batch_;
  std::vector<int64_t> strides_;
};

// Runs `body(first, last)` for ranges of matrices, split by their number and size alone. The overhead of a LAPACK
// call on a tiny matrix equals a few thousand multiplications.
template <class Body>
void share_matrices(int64_t count, int64_t work_of_each, Body&& body) {
  constexpr int64_t kWorkOfCall = 2000;
  if (!count) return;
  const int64_t step = std::max<int64_t>(1, 4 * kParallelGrain / (kWorkOfCall + work_of_each));
  parallel_blocks((count + step - 1) / step,
                  [&](int64_t block) { body(block * step, std::min(count, (block + 1) * step)); });
}
inline int64_t cube(int64_t n) { return n * n * n; }

// `to[column][row] = from[row][column]`; rows are `to_step` and `from_step` elements apart.
template <class T>
void transpose(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t rows, int64_t columns) {
  constexpr int64_t kTile = 32;
  for (int64_t i = 0; i < rows; i += kTile)
    for (int64_t j = 0; j < columns; j += kTile) {
      const int64_t height = std::min(kTile, rows - i), width = std::min(kTile, columns - j);
      if constexpr (can_transpose(sizeof(T))) {
        constexpr auto item = static_cast<int64_t>(sizeof(T));
        pellucid::transpose(reinterpret_cast<char*>(to + j * to_step + i), to_step * item,
                            reinterpret_cast<const char*>(from + i * from_step + j), from_step * item, width, height,
                            sizeof(T));
      } else {
        for (int64_t row = i; row < i + height; ++row)
          for (int64_t column = j; column < j + width; ++column)
            to[column * to_step + row] = from[row * from_step + column];
      }
    }
}
// Copies a row-major matrix to column-major order; and the first rows of columns of `height` back.
template <class T>
void to_columns(T* to, const T* from, int64_t rows, int64_t columns) {
  transpose(to, rows, from, columns, rows, columns);
}
template <class T>
void from_columns(T* to, const T* from, int64_t rows, int64_t columns, int64_t height) {
  transpose(to, columns, from, height, columns, rows);
}

// The workspace size from a routine's workspace query, which returns it as a number of type T.
template <class T>
Int workspace_size(T answer) {
  return std::max(Int{1}, static_cast<Int>(std::real(answer)));
}

inline bool is_set(const LibraryCall& call, std::string_view name) {
  const Constant* option = call.option(name);
  return option && option->value.integer != 0;
}

// Calls `routine(routines)` for the routines of the call's dtype. Empty tensors, and all tensors if there is no
// LAPACK, are left to the routine's definition in NumPy.
template <class Routine>
void with_routines(LibraryCall& call, Routine&& routine) {
  for (const TensorImpl* input : call.inputs)
    if (!input->numel) return library_fallback(call);
  const Library* found = library();
  if (!found) return library_fallback(call);
  switch (call.inputs[0]->dtype) {
    case DType::Float32: return routine(found->float32);
    case DType::Float64: return routine(found->float64);
    case DType::Complex64: return routine(found->complex64);
    case DType::Complex128: return routine(found->complex128);
    default: return library_fallback(call);
  }
}

// Registers `routine<T>(call, routines)` as the library routine of that name.
#define PELLUCID_LAPACK_ROUTINE(name, routine)                                                      \
  register_library_routine(name, [](LibraryCall& call) {                                            \
    with_routines(call, [&]<class T>(const Routines<T>& routines) { routine<T>(call, routines); }); \
  })

}  // namespace pellucid::lapack
