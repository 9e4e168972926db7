// Small matrices of a batch in groups: lane k of a vector belongs to matrix k of the group.
//
// For a few rows and columns a LAPACK call costs more than the arithmetic. Here one pass of scalar code computes
// a whole group, with as many lanes per vector as there are matrices. Lanes are independent, so a matrix has the
// same result in every batch. Complex matrices form groups of one. Used by small_*.h.
#pragma once

#include <immintrin.h>

#include <array>
#include <cmath>
#include <complex>

#include "library/matrices.h"
#include "library/vectors.h"

namespace pellucid::lapack {

template <class T>
struct GroupOf {
  using Type = Vector<T>;
  static constexpr int kMatrices = static_cast<int>(kLanes<T>);
};
template <class T>
struct GroupOf<std::complex<T>> {
  using Type = std::complex<T>;
  static constexpr int kMatrices = 1;
};

// The most rows and columns for which a group is faster than LAPACK; for a matrix by itself it is `kFewAlone`.
template <class T>
constexpr Int kFewRows = is_complex<T> ? 12 : 4 * GroupOf<T>::kMatrices;
constexpr Int kFewAlone = 12;

template <class T>
bool are_small(Int rows, int64_t count) {
  return rows <= kFewRows<T> && (rows <= kFewAlone || count >= GroupOf<T>::kMatrices);
}

// One number of each matrix of a group.
template <class T>
using Numbers = typename GroupOf<T>::Type;
template <class T>
constexpr int kMatrices = GroupOf<T>::kMatrices;

template <class T>
Numbers<T> all_equal_to(T x) {
  if constexpr (is_complex<T>) return x;
  else return Numbers<T>{} + x;
}

// Whether a comparison holds in any lane.
template <class Mask>
bool any(const Mask& mask) {
  if constexpr (std::is_same_v<Mask, bool>) return mask;
  else return !_mm256_testz_si256(reinterpret_cast<const __m256i&>(mask), reinterpret_cast<const __m256i&>(mask));
}

template <class Mask>
bool holds_in(const Mask& mask, int matrix) {
  if constexpr (std::is_same_v<Mask, bool>) return mask;
  else return mask[matrix] != 0;
}

inline Vector<float> absolute(const Vector<float>& x) { return x < 0 ? -x : x; }
inline Vector<double> absolute(const Vector<double>& x) { return x < 0 ? -x : x; }
inline Vector<float> root(const Vector<float>& x) { return _mm256_sqrt_ps(x); }
inline Vector<double> root(const Vector<double>& x) { return _mm256_sqrt_pd(x); }

// The greater number of each lane; NaN if the first is NaN.
template <class V>
V greater_of(const V& a, const V& b) {
  return b > a ? b : a;
}

// The magnitude by which pivots are chosen, as in LAPACK.
template <class T>
Real<T> pivot_size(const std::complex<T>& x) {
  return std::abs(x.real()) + std::abs(x.imag());
}
inline Vector<float> pivot_size(const Vector<float>& x) { return absolute(x); }
inline Vector<double> pivot_size(const Vector<double>& x) { return absolute(x); }

// The number of one matrix of the group.
template <class T>
T number_of(const Numbers<T>& numbers, [[maybe_unused]] int matrix) {
  if constexpr (is_complex<T>) return numbers;
  else return numbers[matrix];
}

// Matrices in memory that form a group; a group that is not full repeats its last matrix.
template <class T>
struct Group {
  std::array<T*, kMatrices<T>> matrices;
  int count;

  void load(Numbers<T>* to, int64_t size) const {
    T* numbers = reinterpret_cast<T*>(to);
    for (int64_t k = 0; k < size; ++k)
      for (int matrix = 0; matrix < kMatrices<T>; ++matrix) numbers[k * kMatrices<T> + matrix] = matrices[matrix][k];
  }
  void store(const Numbers<T>* from, int64_t size) const {
    for (int matrix = 0; matrix < count; ++matrix) store(from, size, matrix);
  }
  void store(const Numbers<T>* from, int64_t size, int matrix) const {
    const T* numbers = reinterpret_cast<const T*>(from);
    for (int64_t k = 0; k < size; ++k) matrices[matrix][k] = numbers[k * kMatrices<T> + matrix];
  }
};

// A group of the matrices `place(k)`, k from `first` to `last` of a batch.
template <class T, class Place>
Group<T> group_of(int64_t first, int64_t last, Place&& place) {
  Group<T> group;
  group.count = static_cast<int>(std::min<int64_t>(kMatrices<T>, last - first));
  for (int matrix = 0; matrix < kMatrices<T>; ++matrix)
    group.matrices[matrix] = place(first + std::min(matrix, group.count - 1));
  return group;
}

// Runs `body(first, last)` for ranges of whole groups, except that the last range may end with a partial one.
template <class T, class Body>
void share_groups(int64_t count, int64_t work_of_each, Body&& body) {
  constexpr int64_t kMost = kMatrices<T>;
  const int64_t groups = std::max<int64_t>(1, 4 * kParallelGrain / (kMost * (64 + work_of_each)));
  const int64_t step = groups * kMost;
  parallel_blocks((count + step - 1) / step,
                  [&](int64_t block) { body(block * step, std::min(count, (block + 1) * step)); });
}

}  // namespace pellucid::lapack
