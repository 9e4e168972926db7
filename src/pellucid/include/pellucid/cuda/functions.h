// CUDA C++'s functions of numbers, by those of the C library. Read next: launch.h.
#pragma once

#include <math.h>
#include <stdio.h>

#include "pellucid/cuda/types.h"

// The C library has these names for itself.
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __tanhf(x) tanhf(x)
#define __powf(x, y) powf(x, y)
#define __sincosf(x, sine, cosine) sincosf(x, sine, cosine)

#define PELLUCID_EXTREMES(type)                                \
  constexpr type min(type a, type b) { return b < a ? b : a; } \
  constexpr type max(type a, type b) { return a < b ? b : a; }
PELLUCID_EXTREMES(int)
PELLUCID_EXTREMES(unsigned)
PELLUCID_EXTREMES(long)
PELLUCID_EXTREMES(unsigned long)
PELLUCID_EXTREMES(long long)
PELLUCID_EXTREMES(unsigned long long)
#undef PELLUCID_EXTREMES
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
#define PELLUCID_MIXED(wide, other)                                            \
  constexpr wide min(wide a, other b) { return min(a, static_cast<wide>(b)); } \
  constexpr wide min(other a, wide b) { return min(static_cast<wide>(a), b); } \
  constexpr wide max(wide a, other b) { return max(a, static_cast<wide>(b)); } \
  constexpr wide max(other a, wide b) { return max(static_cast<wide>(a), b); }
PELLUCID_MIXED(unsigned, int)
PELLUCID_MIXED(unsigned long, long)
PELLUCID_MIXED(unsigned long long, long long)
#undef PELLUCID_MIXED
inline double min(double a, float b) { return fmin(a, b); }
inline double min(float a, double b) { return fmin(a, b); }
inline double max(double a, float b) { return fmax(a, b); }
inline double max(float a, double b) { return fmax(a, b); }

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
inline float fdividef(float a, float b) { return a / b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / sqrt(static_cast<double>(x))); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll(static_cast<unsigned long long>(x)) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline int __mul24(int a, int b) {  // the low 24 bits with their sign
  const auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
  return static_cast<int>(static_cast<unsigned>(low(a)) * static_cast<unsigned>(low(b)));
}
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<int64_t>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32); }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1) << (31 - bit);
  return reversed;
}

inline int __float_as_int(float x) { return pellucid::cuda::value_of<int>(pellucid::cuda::word_of(x)); }
inline unsigned __float_as_uint(float x) { return pellucid::cuda::value_of<unsigned>(pellucid::cuda::word_of(x)); }
inline float __int_as_float(int x) { return pellucid::cuda::value_of<float>(pellucid::cuda::word_of(x)); }
inline float __uint_as_float(unsigned x) { return pellucid::cuda::value_of<float>(pellucid::cuda::word_of(x)); }
inline long long __double_as_longlong(double x) {
  return pellucid::cuda::value_of<long long>(pellucid::cuda::word_of(x));
}
inline double __longlong_as_double(long long x) { return pellucid::cuda::value_of<double>(pellucid::cuda::word_of(x)); }
inline int __float2int_rn(float x) { return pellucid::cuda::saturated<int>(nearbyintf(x)); }
inline int __float2int_rz(float x) { return pellucid::cuda::saturated<int>(x); }
inline int __float2int_rd(float x) { return pellucid::cuda::saturated<int>(floorf(x)); }
inline int __float2int_ru(float x) { return pellucid::cuda::saturated<int>(ceilf(x)); }
inline unsigned __float2uint_rn(float x) { return pellucid::cuda::saturated<unsigned>(nearbyintf(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

template <class T>
inline T __ldg(const T* at) {
  return *at;
}
