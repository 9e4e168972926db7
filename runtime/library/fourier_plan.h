// The plan of a Fourier transform of one length, with its roots of unity.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <memory>
#include <vector>

#include "library/fourier_lanes.h"

namespace pellucid::fourier {

// Lengths without a prime factor above this are computed as a sequence of passes; others as convolutions: of one
// number fewer if that yields such a length of a prime (Rader 1968), else of a greater length (Bluestein 1970).
constexpr int64_t kGreatestRadix = 13;

template <class T>
class Plan {
 public:
  explicit Plan(int64_t length);

  int64_t length() const { return length_; }
  bool is_convolution() const { return convolved_ != nullptr; }

  // Transforms as many lines as there are lanes, from `first` with `second` as scratch, of `held()` numbers each;
  // returns the one with the result.
  Complexes<T>* run(Complexes<T>* first, Complexes<T>* second) const;
  int64_t held() const { return convolved_ ? std::max(length_, convolved_->length()) : length_; }

  // The dims of a line that is transformed as a `rows()` x `columns()` matrix; 1 row: it is not.
  int64_t rows() const { return by_columns_ ? by_columns_->length() : 1; }
  int64_t columns() const { return length_ / rows(); }
  const Plan& of_columns() const { return *by_columns_; }  // of rows() numbers each
  const Plan& of_rows() const { return *by_rows_; }
  const T* roots() const { return reinterpret_cast<const T*>(roots_.data()); }  // rows() x columns()

  // e^(-pi i k / length) up to the middle: relates this transform to that of twice as many real numbers.
  const std::complex<T>* half_roots() const { return half_roots_.data(); }

  // For a convolution: its transform, the transformed filter, and either the chirp or the powers of a primitive root
  // modulo the length.
  const Plan& convolved() const { return *convolved_; }
  const int64_t* powers() const { return powers_.empty() ? nullptr : powers_.data(); }
  const T* chirp() const { return reinterpret_cast<const T*>(chirp_.data()); }
  const T* filter() const { return reinterpret_cast<const T*>(filter_.data()); }

  size_t bytes() const {
    return (roots_.size() + pass_roots_.size() + half_roots_.size() + chirp_.size() + filter_.size()) * 2 * sizeof(T) +
           powers_.size() * sizeof(int64_t);
  }

 private:
  void plan_passes();
  void plan_matrix();
  void plan_chirp();
  void plan_powers(int64_t primitive_root);
  void plan_filter(const std::vector<std::complex<T>>& filter);
  Complexes<T>* run_passes(Complexes<T>* first, Complexes<T>* second) const;
  Complexes<T>* run_chirp(Complexes<T>* first, Complexes<T>* second) const;
  Complexes<T>* run_powers(Complexes<T>* first, Complexes<T>* second) const;

  int64_t length_;
  std::vector<int> radices_;
  std::vector<std::complex<T>> pass_roots_, roots_, half_roots_, chirp_, filter_;
  std::vector<int64_t> powers_;
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
