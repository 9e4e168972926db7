// The plan of a Fourier transform of one length, with its roots of unity.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "library/fourier_lanes.h"

namespace pellucid::fourier {

// Lengths without a prime factor above this are computed as a sequence of passes; others as convolutions
// (Bluestein 1970).
constexpr int64_t kGreatestRadix = 13;

template <class T>
class Plan {
 public:
  explicit Plan(int64_t length);

  int64_t length() const { return length_; }
  bool is_convolution() const { return convolved_ != nullptr; }

  // Transforms as many lines as there are lanes, from `first` with `second` as scratch; returns the one with the
  // result.
  const Complexes<T>* run(Complexes<T>* first, Complexes<T>* second) const;

  // The dims of a line that is transformed as a `rows()` x `columns()` matrix; 1 row: it is not.
  int64_t rows() const { return by_columns_ ? by_columns_->length() : 1; }
  int64_t columns() const { return length_ / rows(); }
  const Plan& of_columns() const { return *by_columns_; }  // of rows() numbers each
  const Plan& of_rows() const { return *by_rows_; }
  const T* roots() const { return reinterpret_cast<const T*>(roots_.data()); }  // rows() x columns()

  // e^(-pi i k / length) up to the middle: relates this transform to that of twice as many real numbers.
  const T* half_roots() const { return reinterpret_cast<const T*>(half_roots_.data()); }

  // For a convolution: the transform of a greater length, the chirp, and the chirp's transform.
  const Plan& convolved() const { return *convolved_; }
  const T* chirp() const { return reinterpret_cast<const T*>(chirp_.data()); }
  const T* filter() const { return reinterpret_cast<const T*>(filter_.data()); }

  size_t bytes() const {
    return (roots_.size() + pass_roots_.size() + half_roots_.size() + chirp_.size() + filter_.size()) * 2 * sizeof(T);
  }

 private:
  void plan_passes();
  void plan_matrix();
  void plan_convolution();

  int64_t length_;
  std::vector<int> radices_;
  std::vector<std::complex<T>> pass_roots_, roots_, half_roots_, chirp_, filter_;
  std::shared_ptr<const Plan> by_columns_, by_rows_, convolved_;
};

// The plan of a length; recently used ones are cached. Thread-safe.
template <class T>
std::shared_ptr<const Plan<T>> plan_of(int64_t length);

// e^(-2 pi i k / count) for k below `count`, and similar roots of unity.
template <class T>
class Roots {
 public:
  explicit Roots(int64_t count);
  std::complex<T> operator[](int64_t k) const;  // 0 <= k < count

 private:
  int64_t step_;
  std::vector<std::complex<long double>> fine_, coarse_;
};

extern template class Plan<float>;
extern template class Plan<double>;
extern template class Roots<float>;
extern template class Roots<double>;

}  // namespace pellucid::fourier
