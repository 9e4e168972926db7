// CUDA C++'s types: vectors of two to four numbers, half and bfloat16. Read next: functions.h.
#pragma once

#include "pellucid/cuda/words.h"
#include "pellucid/torch/numbers.h"

#define PELLUCID_VECTORS(name, type, align2, align4)               \
  struct name##1 { type x; };                                      \
  struct alignas(align2) name##2 { type x, y; };                   \
  struct alignas(align4) name##4 { type x, y, z, w; };             \
  inline name##1 make_##name##1(type x) { return {x}; }            \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; } \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
#define PELLUCID_TRIPLE(name, type) \
  struct name##3 { type x, y, z; };
#define PELLUCID_VECTORS_OF(name, type, align2, align4) \
  PELLUCID_TRIPLE(name, type)                           \
  PELLUCID_VECTORS(name, type, align2, align4)          \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }
PELLUCID_VECTORS_OF(char, signed char, 2, 4)
PELLUCID_VECTORS_OF(uchar, unsigned char, 2, 4)
PELLUCID_VECTORS_OF(short, short, 4, 8)
PELLUCID_VECTORS_OF(ushort, unsigned short, 4, 8)
PELLUCID_VECTORS_OF(int, int, 8, 16)
PELLUCID_VECTORS_OF(long, long, 16, 16)
PELLUCID_VECTORS_OF(ulong, unsigned long, 16, 16)
PELLUCID_VECTORS_OF(longlong, long long, 16, 16)
PELLUCID_VECTORS_OF(ulonglong, unsigned long long, 16, 16)
PELLUCID_VECTORS_OF(float, float, 8, 16)
PELLUCID_VECTORS_OF(double, double, 16, 16)
PELLUCID_VECTORS(uint, unsigned, 8, 16)  // uint3 is in machine.h
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
#undef PELLUCID_VECTORS
#undef PELLUCID_TRIPLE
#undef PELLUCID_VECTORS_OF

using uint = unsigned;
using __half = c10::Half;
using half = __half;
using __nv_bfloat16 = c10::BFloat16;
using nv_bfloat16 = __nv_bfloat16;

namespace pellucid {
namespace cuda {

template <class T>
struct alignas(4) Pair {
  T x, y;
};

// A float as an integer: the nearest that there is, and 0 for NaN.
template <class To>
inline To saturated(float x) {
  constexpr To least = std::numeric_limits<To>::min(), most = std::numeric_limits<To>::max();
  if (std::isnan(x)) return 0;
  if (x >= static_cast<float>(most)) return most;  // which rounds up
  return x <= static_cast<float>(least) ? least : static_cast<To>(x);
}

}  // namespace cuda
}  // namespace pellucid

using __half2 = pellucid::cuda::Pair<__half>;
using half2 = __half2;
using __nv_bfloat162 = pellucid::cuda::Pair<__nv_bfloat16>;
using nv_bfloat162 = __nv_bfloat162;

inline __half __float2half(float x) { return x; }
inline __half __float2half_rn(float x) { return x; }
inline __half __double2half(double x) { return static_cast<float>(x); }
inline float __half2float(__half x) { return x; }
inline __half __int2half_rn(int x) { return static_cast<float>(x); }
inline int __half2int_rn(__half x) { return pellucid::cuda::saturated<int>(std::nearbyint(static_cast<float>(x))); }
inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline __half2 __floats2half2_rn(float x, float y) { return {x, y}; }
inline __half2 __float2half2_rn(float x) { return {x, x}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline float2 __half22float2(__half2 pair) { return {pair.x, pair.y}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline float2 __bfloat1622float2(__nv_bfloat162 pair) { return {pair.x, pair.y}; }
template <class T>
inline float __low2float(pellucid::cuda::Pair<T> pair) {
  return pair.x;
}
template <class T>
inline float __high2float(pellucid::cuda::Pair<T> pair) {
  return pair.y;
}

// Functions of halves compute in float and round once.
#define PELLUCID_OF_TWO(name, expression)                                                             \
  template <class F>                                                                                  \
  inline c10::Reduced<F> __h##name(c10::Reduced<F> left, c10::Reduced<F> right) {                     \
    const float a = left, b = right;                                                                  \
    return expression;                                                                                \
  }                                                                                                   \
  template <class T>                                                                                  \
  inline pellucid::cuda::Pair<T> __h##name##2(pellucid::cuda::Pair<T> a, pellucid::cuda::Pair<T> b) { \
    return {__h##name(a.x, b.x), __h##name(a.y, b.y)};                                                \
  }
PELLUCID_OF_TWO(add, a + b)
PELLUCID_OF_TWO(sub, a - b)
PELLUCID_OF_TWO(mul, a* b)
PELLUCID_OF_TWO(max, std::fmax(a, b))
PELLUCID_OF_TWO(min, std::fmin(a, b))
#undef PELLUCID_OF_TWO
template <class F>
inline c10::Reduced<F> __hdiv(c10::Reduced<F> a, c10::Reduced<F> b) {
  return static_cast<float>(a) / static_cast<float>(b);
}
template <class T>
inline pellucid::cuda::Pair<T> __h2div(pellucid::cuda::Pair<T> a, pellucid::cuda::Pair<T> b) {
  return {__hdiv(a.x, b.x), __hdiv(a.y, b.y)};
}
template <class F>
inline c10::Reduced<F> __hfma(c10::Reduced<F> a, c10::Reduced<F> b, c10::Reduced<F> c) {
  return static_cast<float>(std::fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)));
}
template <class T>
inline pellucid::cuda::Pair<T> __hfma2(pellucid::cuda::Pair<T> a, pellucid::cuda::Pair<T> b,
                                       pellucid::cuda::Pair<T> c) {
  return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)};
}
#define PELLUCID_COMPARED(name, sign)                           \
  template <class F>                                            \
  inline bool __h##name(c10::Reduced<F> a, c10::Reduced<F> b) { \
    return static_cast<float>(a) sign static_cast<float>(b);    \
  }
PELLUCID_COMPARED(eq, ==)
PELLUCID_COMPARED(ne, !=)
PELLUCID_COMPARED(lt, <)
PELLUCID_COMPARED(le, <=)
PELLUCID_COMPARED(gt, >)
PELLUCID_COMPARED(ge, >=)
#undef PELLUCID_COMPARED
#define PELLUCID_OF_ONE(name, expression)              \
  template <class F>                                   \
  inline c10::Reduced<F> name(c10::Reduced<F> given) { \
    const float x = given;                             \
    return expression;                                 \
  }
PELLUCID_OF_ONE(__hneg, -x)
PELLUCID_OF_ONE(__habs, std::fabs(x))
PELLUCID_OF_ONE(hexp, std::exp(x))
PELLUCID_OF_ONE(hlog, std::log(x))
PELLUCID_OF_ONE(hsqrt, std::sqrt(x))
PELLUCID_OF_ONE(hrsqrt, 1.0f / std::sqrt(x))
PELLUCID_OF_ONE(hrcp, 1.0f / x)
PELLUCID_OF_ONE(hsin, std::sin(x))
PELLUCID_OF_ONE(hcos, std::cos(x))
PELLUCID_OF_ONE(htanh, std::tanh(x))
#undef PELLUCID_OF_ONE
