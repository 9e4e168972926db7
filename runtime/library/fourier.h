// Discrete Fourier transforms of interleaved complex numbers.
#pragma once

#include <cstdint>

namespace pellucid {

namespace fourier {

template <class T>
class Plan;

// The data to transform: `outer` blocks of `length` x `inner` numbers each, transformed along the length.
struct Geometry {
  int64_t outer, inner;
  int64_t from_step, to_step;  // distance between blocks, in numbers
  bool inverse = false;
  double factor = 1;  // multiplies every result
};

// Transforms `from` into `to`, which may be the same.
template <class T>
void transform(const Plan<T>& plan, const T* from, T* to, const Geometry& geometry);

// One contiguous line.
template <class T>
void transform_line(const Plan<T>& plan, const T* from, T* to);

// Transforms lines of `length` contiguous real numbers, an even number, into the first half of their transform, and one
// more; and back.
template <class T>
void transform_reals(const T* from, T* to, int64_t lines, int64_t length, double factor);
template <class T>
void transform_to_reals(const T* from, T* to, int64_t lines, int64_t length, double factor);

}  // namespace fourier

void register_fourier();  // fft, rfft, irfft

}  // namespace pellucid
