// How a Fourier transform of one length is computed, with its roots of unity.
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "library/fourier_lanes.h"

namespace pellucid::fourier {

// A length without a prime factor above this is a product of passes; the others become convolutions
// (Bluestein 1970).
constexpr int64_t kGreatestRadix = 13;

template <class T>
class Plan {
 public:
  explicit Plan(int64_t length);

  int64_t length() const { return length_; }
  bool is_convolution() const { return convolved_ != nullptr; }

  // Of as many lines as there are lanes: from `first`, with `second` as scratch; where the result is.
  const Complexes<T>* run(Complexes<T>* first, Complexes<T>* second) const;

  // The parts of a line that is transformed as a matrix of `rows()` x `columns()`; 1 row: it is not.
  int64_t rows() const { return by_columns_ ? by_columns_->length() : 1; }
  int64_t columns() const { return length_ / rows(); }
  const Plan& of_columns() const { return *by_columns_; }  // of rows() numbers each
  const Plan& of_rows() const { return *by_rows_; }
  const T* roots() const { return reinterpret_cast<const T*>(roots_.data()); }  // rows() x columns()

  // e^(-pi i k / length) up to the middle: between this transform and that of twice as many real numbers.
  const T* half_roots() const { return reinterpret_cast<const T*>(half_roots_.data()); }

  // Of a convolution: the transform of a longer length, the chirp, and the chirp's own transform.
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

// The plan of a length, of which those used lately are remembered. Thread-safe.
template <class T>
std::shared_ptr<const Plan<T>> plan_of(int64_t length);

// e^(-2 pi i k / count) for k below `count`, and other angles of a fraction of a turn.
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
