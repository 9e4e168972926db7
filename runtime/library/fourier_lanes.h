// The passes of a discrete Fourier transform, over as many transforms at once as a vector has lanes.
//
// Element k of all of them is one Complexes: a vector of real and one of imaginary parts. `load_lines` and
// `store_lines` convert between that and interleaved numbers in memory. The passes are Stockham's: the first pass over
// n elements combines `radix` of them that are n / radix apart, and results are in order without a permutation.
#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <utility>

#include "library/vectors.h"

namespace pellucid::fourier {

template <class T>
struct Complexes {
  Vector<T> re, im;

  friend Complexes operator+(const Complexes& a, const Complexes& b) { return {a.re + b.re, a.im + b.im}; }
  friend Complexes operator-(const Complexes& a, const Complexes& b) { return {a.re - b.re, a.im - b.im}; }
  friend Complexes operator*(const Complexes& a, T b) { return {a.re * b, a.im * b}; }
  friend Complexes operator*(const Complexes& a, const Complexes& b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  friend Complexes operator*(const Complexes& a, std::complex<T> b) {
    return {a.re * b.real() - a.im * b.imag(), a.re * b.imag() + a.im * b.real()};
  }
  Complexes times_i() const { return {-im, re}; }
  Complexes conjugate() const { return {re, -im}; }
  Complexes exchanged() const { return {im, re}; }
};

// The lane's position in a vector after deinterleaving two vectors without crossing their halves.
template <class T>
constexpr int64_t place_of(int64_t lane) {
  if constexpr (sizeof(T) == 4) return (lane & 1) | (lane & 2) << 1 | (lane & 4) >> 1;
  else return (lane & 1) << 1 | lane >> 1;
}

inline Complexes<float> deinterleave(const Vector<float>& a, const Vector<float>& b) {
  return {__builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14),
          __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15)};
}
inline Complexes<double> deinterleave(const Vector<double>& a, const Vector<double>& b) {
  return {__builtin_shufflevector(a, b, 0, 4, 2, 6), __builtin_shufflevector(a, b, 1, 5, 3, 7)};
}
inline std::array<Vector<float>, 2> interleave(const Complexes<float>& z) {
  return {__builtin_shufflevector(z.re, z.im, 0, 8, 1, 9, 4, 12, 5, 13),
          __builtin_shufflevector(z.re, z.im, 2, 10, 3, 11, 6, 14, 7, 15)};
}
inline std::array<Vector<double>, 2> interleave(const Complexes<double>& z) {
  return {__builtin_shufflevector(z.re, z.im, 0, 4, 2, 6), __builtin_shufflevector(z.re, z.im, 1, 5, 3, 7)};
}

// Reads as many contiguous numbers as there are lanes.
template <class T>
Complexes<T> read_numbers(const T* from) {
  return deinterleave(read_vector(from), read_vector(from + kLanes<T>));
}
template <class T>
void write_numbers(T* to, const Complexes<T>& z) {
  const auto [low, high] = interleave(z);
  write_vector(to, low);
  write_vector(to + kLanes<T>, high);
}

// The lanes in reverse order.
inline Vector<float> reversed(const Vector<float>& v) { return __builtin_shufflevector(v, v, 7, 6, 5, 4, 3, 2, 1, 0); }
inline Vector<double> reversed(const Vector<double>& v) { return __builtin_shufflevector(v, v, 3, 2, 1, 0); }
template <class T>
Complexes<T> reversed(const Complexes<T>& z) {
  return {reversed(z.re), reversed(z.im)};
}

// Transposes a square of numbers with half as many rows as a vector has lanes.
inline void transpose_square(Vector<float> (&rows)[4]) {
  using Wide = Vector<double>;
  const auto wide = [&](int k) { return reinterpret_cast<const Wide&>(rows[k]); };
  const Wide a = __builtin_shufflevector(wide(0), wide(1), 0, 4, 2, 6);
  const Wide b = __builtin_shufflevector(wide(0), wide(1), 1, 5, 3, 7);
  const Wide c = __builtin_shufflevector(wide(2), wide(3), 0, 4, 2, 6);
  const Wide d = __builtin_shufflevector(wide(2), wide(3), 1, 5, 3, 7);
  rows[0] = reinterpret_cast<Vector<float>>(__builtin_shufflevector(a, c, 0, 1, 4, 5));
  rows[1] = reinterpret_cast<Vector<float>>(__builtin_shufflevector(b, d, 0, 1, 4, 5));
  rows[2] = reinterpret_cast<Vector<float>>(__builtin_shufflevector(a, c, 2, 3, 6, 7));
  rows[3] = reinterpret_cast<Vector<float>>(__builtin_shufflevector(b, d, 2, 3, 6, 7));
}
inline void transpose_square(Vector<double> (&rows)[2]) {
  const Vector<double> first = __builtin_shufflevector(rows[0], rows[1], 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(rows[0], rows[1], 2, 3, 6, 7);
  rows[0] = first;
}

// Calls `body(k)` for k below `count`, each k with its own type, so that whatever it indexes stays in registers.
template <int count, class Body>
[[gnu::always_inline]] inline void unrolled(Body&& body) {
  [&]<int... k>(std::integer_sequence<int, k...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, k>{}), ...);
  }(std::make_integer_sequence<int, count>{});
}

// Several lines of complex numbers in memory; strides are in numbers.
struct Lines {
  int64_t length;
  int64_t step;            // between elements of a line
  int64_t next;            // between lines
  int64_t count;           // at most kLanes
  bool exchanged = false;  // real and imaginary parts swapped: their transform is the inverse one
};

template <class T>
void load_lines(const T* from, const Lines& lines, Complexes<T>* to) {
  const auto given = [&](const Complexes<T>& z) { return lines.exchanged ? z.exchanged() : z; };
  constexpr int kHalf = kLanes<T> / 2;
  int64_t k = 0;
  if (lines.count == kLanes<T> && lines.next == 1) {
    for (; k < lines.length; ++k) {
      const T* numbers = from + 2 * k * lines.step;
      __builtin_prefetch(numbers + 2 * kLanes<T>, 0, 2);  // likely the next group's; the stride hides it
      to[k] = given(read_numbers(numbers));
    }
  } else if (lines.count == kLanes<T> && lines.step == 1) {
    for (; k + kHalf <= lines.length; k += kHalf) {
      Vector<T> low[kHalf], high[kHalf];
      unrolled<kHalf>([&](auto row) {
        low[row] = read_vector(from + 2 * (row * lines.next + k));
        high[row] = read_vector(from + 2 * ((row + kHalf) * lines.next + k));
      });
      transpose_square(low);
      transpose_square(high);
      unrolled<kHalf>([&](auto j) { to[k + j] = given(deinterleave(low[j], high[j])); });
    }
  }
  for (; k < lines.length; ++k) {
    Complexes<T> z{};
    for (int64_t lane = 0; lane < lines.count; ++lane) {
      const T* number = from + 2 * (k * lines.step + lane * lines.next);
      z.re[place_of<T>(lane)] = number[0];
      z.im[place_of<T>(lane)] = number[1];
    }
    to[k] = given(z);
  }
}

template <class T>
void store_lines(T* to, const Lines& lines, const Complexes<T>* from, T factor = 1) {
  const auto result = [&](int64_t k) { return (lines.exchanged ? from[k].exchanged() : from[k]) * factor; };
  constexpr int kHalf = kLanes<T> / 2;
  int64_t k = 0;
  if (lines.count == kLanes<T> && lines.next == 1) {
    for (; k < lines.length; ++k) write_numbers(to + 2 * k * lines.step, result(k));
  } else if (lines.count == kLanes<T> && lines.step == 1) {
    for (; k + kHalf <= lines.length; k += kHalf) {
      Vector<T> low[kHalf], high[kHalf];
      unrolled<kHalf>([&](auto j) {
        const auto [first, second] = interleave(result(k + j));
        low[j] = first;
        high[j] = second;
      });
      transpose_square(low);
      transpose_square(high);
      unrolled<kHalf>([&](auto row) {
        write_vector(to + 2 * (row * lines.next + k), low[row]);
        write_vector(to + 2 * ((row + kHalf) * lines.next + k), high[row]);
      });
    }
  }
  for (; k < lines.length; ++k) {
    const Complexes<T> z = result(k);
    for (int64_t lane = 0; lane < lines.count; ++lane) {
      T* number = to + 2 * (k * lines.step + lane * lines.next);
      number[0] = z.re[place_of<T>(lane)];
      number[1] = z.im[place_of<T>(lane)];
    }
  }
}

// The cosines, then the sines, of 2 pi k / radix.
template <class T, int radix>
inline const std::array<T, 2 * radix> kTurns = [] {
  std::array<T, 2 * radix> made;
  for (int k = 0; k < radix; ++k) {
    const long double angle = 2 * std::numbers::pi_v<long double> * k / radix;
    made[k] = static_cast<T>(std::cos(angle));
    made[radix + k] = static_cast<T>(std::sin(angle));
  }
  return made;
}();

// Transforms `radix` numbers in place. An odd radix uses sums and differences of opposite numbers, which share
// their products with cosines and sines.
template <class T, int radix>
[[gnu::always_inline]] inline void transform_few(Complexes<T> (&z)[radix]) {
  if constexpr (radix == 2) {
    const Complexes<T> difference = z[0] - z[1];
    z[0] = z[0] + z[1];
    z[1] = difference;
  } else if constexpr (radix == 4) {
    const Complexes<T> a = z[0] + z[2], b = z[0] - z[2], c = z[1] + z[3], d = (z[3] - z[1]).times_i();
    z[0] = a + c;
    z[1] = b + d;
    z[2] = a - c;
    z[3] = b - d;
  } else {
    constexpr int kHalf = radix / 2;
    const auto& turns = kTurns<T, radix>;
    Complexes<T> sums[kHalf], differences[kHalf];
    const Complexes<T> first = z[0];
    unrolled<kHalf>([&](auto j) __attribute__((always_inline)) {
      sums[j] = z[j + 1] + z[radix - 1 - j];
      differences[j] = z[j + 1] - z[radix - 1 - j];
      z[0] = z[0] + sums[j];
    });
    unrolled<kHalf>([&](auto k) __attribute__((always_inline)) {
      Complexes<T> even = first, odd{};
      unrolled<kHalf>([&](auto j) __attribute__((always_inline)) {
        constexpr int kTurn = (j + 1) * (k + 1) % radix;
        even = even + sums[j] * turns[kTurn];
        odd = odd + differences[j] * turns[radix + kTurn];
      });
      z[k + 1] = even - odd.times_i();
      z[radix - 1 - k] = even + odd.times_i();
    });
  }
}

// One pass over `groups * radix` numbers of `run` transforms each; roots holds `radix - 1` factors per group.
template <class T, int radix>
void pass(const Complexes<T>* from, Complexes<T>* to, int64_t groups, int64_t run, const std::complex<T>* roots) {
  const int64_t step = groups * run;
  for (int64_t q = 0; q < run; ++q) {  // group 0, whose factors are 1
    Complexes<T> z[radix];
    unrolled<radix>([&](auto k) { z[k] = from[q + k * step]; });
    transform_few<T, radix>(z);
    unrolled<radix>([&](auto k) { to[q + k * run] = z[k]; });
  }
  for (int64_t group = 1; group < groups; ++group) {
    roots += radix - 1;
    const Complexes<T>* x = from + group * run;
    Complexes<T>* y = to + group * radix * run;
    for (int64_t q = 0; q < run; ++q) {
      Complexes<T> z[radix];
      unrolled<radix>([&](auto k) { z[k] = x[q + k * step]; });
      transform_few<T, radix>(z);
      y[q] = z[0];
      unrolled<radix - 1>([&](auto k) { y[q + (k + 1) * run] = z[k + 1] * roots[k]; });
    }
  }
}

}  // namespace pellucid::fourier
