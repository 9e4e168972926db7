// Eigenvalues and singular values of the small real matrices of a group by Jacobi rotations: see matrix_groups.h.
//
// A rotation zeroes one element, or one dot product of columns; sweeps over all pairs end when no lane rotates.
// Values below rounding error are left alone, lane by lane.
#pragma once

#include <numeric>

#include "library/matrix_groups.h"

namespace pellucid::lapack {

// The most rows for which rotations are faster than LAPACK.
template <class T>
constexpr Int kFewEigenvalues = 2 * kMatrices<T>;
template <class T>
constexpr Int kFewSingularValues = 3 * kMatrices<T>;
constexpr int kMostSweeps = 40;  // about six are usual, ten with many rows

// The rotation that zeroes z = a_pq, which is nonzero where `rotates`, given x = a_pp and y = a_qq.
template <class T>
struct Rotation {
  template <class Mask>
  Rotation(const Vector<T>& x, const Vector<T>& y, const Vector<T>& z, const Mask& rotates) {
    const V one = V{} + T{1};
    const V ratio = (y - x) / (rotates ? z + z : one), size = absolute(ratio);
    const V found = one / (size + root(ratio * ratio + one));
    tangent = rotates ? (ratio < 0 ? -found : found) : V{};
    const V cosine = one / root(tangent * tangent + one);
    sine = tangent * cosine;
    half = sine / (one + cosine);
  }
  // Rutishauser 1966: for a small angle the increments are small, and so are their rounding errors.
  void rotate(Vector<T>& p, Vector<T>& q) const {
    const V first = p;
    p -= sine * (q + half * p);
    q += sine * (first - half * q);
  }

  using V = Vector<T>;
  V tangent, sine, half;  // the last is the tangent of half the angle
};

template <class T>
void identity_of(Vector<T>* to, int64_t n) {
  std::fill_n(to, n * n, Vector<T>{});
  for (int64_t k = 0; k < n; ++k) to[k * (n + 1)] = Vector<T>{} + T{1};
}

// The sorted order of `count` values of one matrix.
template <class T, class Before>
std::array<int8_t, kFewSingularValues<T>> order_of(const Vector<T>* values, int64_t count, int matrix,
                                                   Before&& before) {
  std::array<int8_t, kFewSingularValues<T>> order{};
  for (int64_t k = 0; k < count; ++k) {
    int64_t place = k;
    for (; place > 0 && before(values[k][matrix], values[order[place - 1]][matrix]); --place)
      order[place] = order[place - 1];
    order[place] = static_cast<int8_t>(k);
  }
  return order;
}

// Symmetric matrices.
template <class T>
class SmallEigh {
 public:
  SmallEigh(Int n, bool with_vectors, bool is_upper)
      : n_(n), with_vectors_(with_vectors), is_upper_(is_upper), a_(int64_t{n} * n), vectors_(int64_t{n} * n),
        values_(n) {}

  // False if the sweeps do not converge.
  bool find(const Group<T>& matrices) {
    matrices.load(a_, int64_t{n_} * n_);
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < i; ++j)
        if (is_upper_) at(i, j) = at(j, i);
        else at(j, i) = at(i, j);
    identity_of<T>(vectors_, n_);
    int sweeps = 0;
    while (sweep())
      if (++sweeps == kMostSweeps) return false;
    for (int64_t k = 0; k < n_; ++k) values_[k] = at(k, k);
    return true;
  }

  void give(int matrix, T* values, T* vectors) const {
    const auto order = order_of<T>(values_, n_, matrix, [](T a, T b) { return a < b; });
    for (int64_t k = 0; k < n_; ++k) values[k] = values_[order[k]][matrix];
    if (!with_vectors_) return;
    for (int64_t k = 0; k < n_; ++k)
      for (int64_t i = 0; i < n_; ++i) vectors[i * n_ + k] = vectors_[order[k] * n_ + i][matrix];
  }

 private:
  using V = Vector<T>;

  bool sweep() {
    constexpr T kNegligible = std::numeric_limits<T>::epsilon() / 64;
    bool rotated = false;
    for (int64_t p = 0; p < n_; ++p)
      for (int64_t q = p + 1; q < n_; ++q) {
        const V z = at(p, q);
        const auto rotates = absolute(z) > greater_of(absolute(at(p, p)), absolute(at(q, q))) * kNegligible;
        if (!any(rotates)) continue;
        rotated = true;
        rotate(p, q, rotates);
      }
    return rotated;
  }

  template <class Mask>
  void rotate(int64_t p, int64_t q, const Mask& rotates) {
    const V z = at(p, q);
    const Rotation<T> rotation(at(p, p), at(q, q), z, rotates);
    at(p, p) -= rotation.tangent * z;
    at(q, q) += rotation.tangent * z;
    at(p, q) = at(q, p) = rotates ? V{} : z;
    for (int64_t k = 0; k < n_; ++k) {
      if (k == p || k == q) continue;
      rotation.rotate(at(p, k), at(q, k));
      at(k, p) = at(p, k);
      at(k, q) = at(q, k);
    }
    for (int64_t k = 0; k < n_ && with_vectors_; ++k) rotation.rotate(vectors_[p * n_ + k], vectors_[q * n_ + k]);
  }

  V& at(int64_t row, int64_t column) const { return a_[row * n_ + column]; }

  Int n_;
  bool with_vectors_, is_upper_;
  Workspace<V> a_, vectors_, values_;
};

// Hestenes 1958: columns of A, or rows if there are fewer, are rotated until they are orthogonal. Their lengths
// are the singular values.
template <class T>
class SmallSvd {
 public:
  SmallSvd(Int m, Int n, bool with_vectors)
      : by_rows_(m < n), with_vectors_(with_vectors), length_(std::max(m, n)), count_(std::min(m, n)),
        from_(int64_t{m} * n), columns_(int64_t{m} * n), right_(int64_t{count_} * count_), values_(count_) {}

  // False if the sweeps do not converge.
  bool find(const Group<T>& matrices) {
    matrices.load(from_, int64_t{length_} * count_);
    const V scale = find_scale();
    for (int64_t k = 0; k < count_; ++k)
      for (int64_t i = 0; i < length_; ++i)
        column(k)[i] = (by_rows_ ? from_[k * length_ + i] : from_[i * count_ + k]) * scale;
    identity_of<T>(right_, count_);
    int sweeps = 0;
    while (sweep())
      if (++sweeps == kMostSweeps) return false;
    for (int64_t k = 0; k < count_; ++k) {
      const V length = root(product(k, k));
      if (with_vectors_)
        for (int64_t i = 0; i < length_; ++i) column(k)[i] /= length;
      values_[k] = length / scale;
    }
    return true;
  }

  // Whether the columns of all singular values have directions; those of the smallest values may be lost in
  // rounding errors.
  bool has_vectors(int matrix) const {
    T least = values_[0][matrix], greatest = least;
    for (int64_t k = 1; k < count_; ++k) {
      least = std::min<T>(least, values_[k][matrix]);
      greatest = std::max<T>(greatest, values_[k][matrix]);
    }
    return least > greatest * 16 * length_ * std::numeric_limits<T>::epsilon();
  }

  // Stores U, S and Vᵀ.
  void give(int matrix, T* u, T* values, T* vh) const {
    const auto order = order_of<T>(values_, count_, matrix, [](T a, T b) { return a > b; });
    for (int64_t k = 0; k < count_; ++k) values[k] = values_[order[k]][matrix];
    if (!with_vectors_) return;
    for (int64_t k = 0; k < count_; ++k) {
      const V *lengthwise = column(order[k]), *across = right_ + order[k] * count_;
      for (int64_t i = 0; i < length_; ++i)
        (by_rows_ ? vh[k * length_ + i] : u[i * count_ + k]) = lengthwise[i][matrix];
      for (int64_t i = 0; i < count_; ++i) (by_rows_ ? u[i * count_ + k] : vh[k * count_ + i]) = across[i][matrix];
    }
  }

 private:
  using V = Vector<T>;

  V* column(int64_t k) const { return columns_ + k * length_; }

  // Powers of two that scale the largest element to about 1, so that squares neither overflow nor underflow.
  V find_scale() const {
    V largest{}, scale;
    for (int64_t k = 0; k < int64_t{length_} * count_; ++k) largest = greater_of(largest, absolute(from_[k]));
    for (int matrix = 0; matrix < kMatrices<T>; ++matrix) {
      const T size = largest[matrix];
      constexpr int kLeast = std::numeric_limits<T>::min_exponent, kMost = std::numeric_limits<T>::max_exponent;
      const int exponent = size > 0 && std::isfinite(size) ? std::ilogb(size) : 0;
      scale[matrix] = std::ldexp(T{1}, -std::clamp(exponent, kLeast, kMost - 2));
    }
    return scale;
  }

  V product(int64_t p, int64_t q) const {
    V sum = column(p)[0] * column(q)[0];
    for (int64_t i = 1; i < length_; ++i) sum += column(p)[i] * column(q)[i];
    return sum;
  }

  bool sweep() {
    constexpr T kEpsilon = std::numeric_limits<T>::epsilon();
    const T negligible = kEpsilon * std::sqrt(T(length_));  // the rounding error of a dot product
    bool rotated = false;
    for (int64_t p = 0; p < count_; ++p)
      for (int64_t q = p + 1; q < count_; ++q) {
        const V x = product(p, p), y = product(q, q), z = product(p, q);
        const auto rotates =
            (absolute(z) > root(x) * root(y) * negligible) & (absolute(z) > kEpsilon * kEpsilon * kEpsilon);
        if (!any(rotates)) continue;
        rotated = true;
        const Rotation<T> rotation(x, y, z, rotates);
        for (int64_t i = 0; i < length_; ++i) rotation.rotate(column(p)[i], column(q)[i]);
        for (int64_t i = 0; i < count_ && with_vectors_; ++i)
          rotation.rotate(right_[p * count_ + i], right_[q * count_ + i]);
      }
    return rotated;
  }

  bool by_rows_, with_vectors_;
  Int length_, count_;
  Workspace<V> from_, columns_, right_, values_;
};

}  // namespace pellucid::lapack
