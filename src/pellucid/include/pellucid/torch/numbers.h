// Elements that C++ has no type for: Half, BFloat16 and complex, with their arithmetic.
//
// Halves compute in float and round to nearest even after every operation. Read next: values.h.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <type_traits>

namespace c10 {

namespace detail {

inline uint32_t bits_of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

struct HalfFormat {
  static uint16_t from(float value) {
    const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
    if (magnitude >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
    if (magnitude < 0x38800000)  // subnormal: the sum aligns the last bit
      return static_cast<uint16_t>(sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)));
    return static_cast<uint16_t>(sign | ((magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13));
  }
  static float to(uint16_t bits) {
    const uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ffu;
    if (exponent == 31) return float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0) return std::copysign(static_cast<float>(fraction) * 0x1p-24f, float_of(sign | 0x3f800000));
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
  }
};
struct BFloat16Format {
  static uint16_t from(float value) {
    const uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
  static float to(uint16_t bits) { return float_of(static_cast<uint32_t>(bits) << 16); }
};

}  // namespace detail

template <class Format>
struct alignas(2) Reduced {
  uint16_t x = 0;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }

  Reduced() = default;
  constexpr Reduced(uint16_t bits, from_bits_t) : x(bits) {}
  Reduced(float value) : x(Format::from(value)) {}
  operator float() const { return Format::to(x); }
};
using Half = Reduced<detail::HalfFormat>;
using BFloat16 = Reduced<detail::BFloat16Format>;

// Beside another half or an integer the result is a half, beside a float or double it is theirs.
#define PELLUCID_REDUCED(sign)                                                            \
  template <class F>                                                                      \
  Reduced<F> operator sign(Reduced<F> a, Reduced<F> b) {                                  \
    return static_cast<float>(a) sign static_cast<float>(b);                              \
  }                                                                                       \
  template <class F, class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>         \
  auto operator sign(Reduced<F> a, T b) {                                                 \
    if constexpr (std::is_integral_v<T>) return a sign Reduced<F>(static_cast<float>(b)); \
    else return static_cast<float>(a) sign b;                                             \
  }                                                                                       \
  template <class F, class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>         \
  auto operator sign(T a, Reduced<F> b) {                                                 \
    if constexpr (std::is_integral_v<T>) return Reduced<F>(static_cast<float>(a)) sign b; \
    else return a sign static_cast<float>(b);                                             \
  }                                                                                       \
  template <class F, class T>                                                             \
  Reduced<F>& operator sign## = (Reduced<F> & a, T b) {                                   \
    return a = Reduced<F>(static_cast<float>(a) sign static_cast<float>(b));              \
  }
PELLUCID_REDUCED(+)
PELLUCID_REDUCED(-)
PELLUCID_REDUCED(*)
PELLUCID_REDUCED(/)
#undef PELLUCID_REDUCED
template <class F>
Reduced<F> operator-(Reduced<F> a) {
  return Reduced<F>(static_cast<uint16_t>(a.x ^ 0x8000), Reduced<F>::from_bits());
}

template <class T>
struct alignas(sizeof(T) * 2) complex {
  using value_type = T;
  T real_ = 0, imag_ = 0;

  constexpr complex() = default;
  constexpr complex(T real, T imag = 0) : real_(real), imag_(imag) {}
  template <class Other>
  constexpr explicit complex(const complex<Other>& other)
      : real_(static_cast<T>(other.real())), imag_(static_cast<T>(other.imag())) {}
  constexpr complex(const std::complex<T>& other) : real_(other.real()), imag_(other.imag()) {}
  constexpr operator std::complex<T>() const { return {real_, imag_}; }
  constexpr T real() const { return real_; }
  constexpr T imag() const { return imag_; }
  constexpr void real(T value) { real_ = value; }
  constexpr void imag(T value) { imag_ = value; }

  complex& operator+=(const complex& b) { return *this = complex(real_ + b.real_, imag_ + b.imag_); }
  complex& operator-=(const complex& b) { return *this = complex(real_ - b.real_, imag_ - b.imag_); }
  complex& operator*=(const complex& b) {
    return *this = complex(real_ * b.real_ - imag_ * b.imag_, real_ * b.imag_ + imag_ * b.real_);
  }
  complex& operator/=(const complex& b) { return *this = std::complex<T>(*this) / std::complex<T>(b); }
  friend complex operator+(complex a, const complex& b) { return a += b; }
  friend complex operator-(complex a, const complex& b) { return a -= b; }
  friend complex operator*(complex a, const complex& b) { return a *= b; }
  friend complex operator/(complex a, const complex& b) { return a /= b; }
  friend complex operator-(const complex& a) { return {-a.real_, -a.imag_}; }
  friend bool operator==(const complex& a, const complex& b) { return a.real_ == b.real_ && a.imag_ == b.imag_; }
  friend bool operator!=(const complex& a, const complex& b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& out, const complex& z) { return out << std::complex<T>(z); }
};

template <class T>
struct is_complex : std::false_type {};
template <class T>
struct is_complex<complex<T>> : std::true_type {};

}  // namespace c10

namespace std {

template <class Format>
class numeric_limits<c10::Reduced<Format>> {
  using Number = c10::Reduced<Format>;
  static constexpr bool kHalf = is_same_v<Format, c10::detail::HalfFormat>;
  static constexpr Number of(int half, int bfloat) {
    return Number(static_cast<uint16_t>(kHalf ? half : bfloat), Number::from_bits());
  }

 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false,
                        has_infinity = true, has_quiet_NaN = true, is_bounded = true, is_iec559 = kHalf;
  static constexpr int digits = kHalf ? 11 : 8, radix = 2, max_exponent = kHalf ? 16 : 128;
  static constexpr Number min() { return of(0x0400, 0x0080); }
  static constexpr Number max() { return of(0x7bff, 0x7f7f); }
  static constexpr Number lowest() { return of(0xfbff, 0xff7f); }
  static constexpr Number epsilon() { return of(0x1400, 0x3c00); }
  static constexpr Number infinity() { return of(0x7c00, 0x7f80); }
  static constexpr Number quiet_NaN() { return of(0x7e00, 0x7fc0); }
  static constexpr Number denorm_min() { return of(1, 1); }
};

template <class T>
T real(const c10::complex<T>& z) {
  return z.real();
}
template <class T>
T imag(const c10::complex<T>& z) {
  return z.imag();
}
template <class T>
T abs(const c10::complex<T>& z) {
  return abs(std::complex<T>(z));
}
template <class T>
T arg(const c10::complex<T>& z) {
  return arg(std::complex<T>(z));
}
template <class T>
T norm(const c10::complex<T>& z) {
  return norm(std::complex<T>(z));
}
#define PELLUCID_COMPLEX(name)                     \
  template <class T>                               \
  c10::complex<T> name(const c10::complex<T>& z) { \
    return name(std::complex<T>(z));               \
  }
PELLUCID_COMPLEX(conj)
PELLUCID_COMPLEX(exp)
PELLUCID_COMPLEX(log)
PELLUCID_COMPLEX(sqrt)
PELLUCID_COMPLEX(sin)
PELLUCID_COMPLEX(cos)
PELLUCID_COMPLEX(tanh)
#undef PELLUCID_COMPLEX
template <class T>
c10::complex<T> pow(const c10::complex<T>& z, const c10::complex<T>& w) {
  return pow(std::complex<T>(z), std::complex<T>(w));
}

}  // namespace std

namespace at {

// The type to compute in, and that of sums.
template <class T>
struct OpMathType {
  using type = T;
};
template <class Format>
struct OpMathType<c10::Reduced<Format>> {
  using type = float;
};
template <class T>
using opmath_type = typename OpMathType<T>::type;

template <class T, bool is_device>
struct AccumulateType {
  using type = std::conditional_t<std::is_same_v<T, bool>, bool,
                                  std::conditional_t<std::is_integral_v<T>, int64_t, opmath_type<T>>>;
};
template <>
struct AccumulateType<float, false> {
  using type = double;
};
template <>
struct AccumulateType<c10::complex<float>, false> {
  using type = c10::complex<double>;
};
template <class T, bool is_device>
using acc_type = typename AccumulateType<T, is_device>::type;

}  // namespace at
