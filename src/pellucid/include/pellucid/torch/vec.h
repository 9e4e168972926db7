// at::vec::Vectorized: a vector of elements as loops of fixed length, which compilers vectorise; and maps over memory.
//
// Its size is that of 32 bytes, whatever the processor has. Halves compute in float. Included by ATen/cpu/vec alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "pellucid/torch/values.h"

namespace at::vec {

using c10::BFloat16;
using c10::Half;

template <class T>
using opmath = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;
template <class T>
using int_same_size_t = std::conditional_t<
    sizeof(T) == 8, int64_t,
    std::conditional_t<sizeof(T) == 4, int32_t, std::conditional_t<sizeof(T) == 2, int16_t, int8_t>>>;

template <class T>
class Vectorized {
 public:
  using value_type = T;
  using size_type = int;
  static constexpr int kSize = static_cast<int>(32 / sizeof(T));
  static constexpr int size() { return kSize; }

  Vectorized() : values{} {}
  Vectorized(T value) { std::fill(values, values + kSize, value); }
  template <class... Rest, std::enable_if_t<sizeof...(Rest) + 2 == kSize, int> = 0>
  Vectorized(T first, T second, Rest... rest) : values{first, second, static_cast<T>(rest)...} {}

  static Vectorized loadu(const void* from) { return loadu(from, kSize); }
  static Vectorized loadu(const void* from, int64_t count) {
    Vectorized made;
    std::memcpy(static_cast<void*>(made.values), from, static_cast<size_t>(count) * sizeof(T));
    return made;
  }
  void store(void* to, int64_t count = kSize) const {
    std::memcpy(to, static_cast<const void*>(values), static_cast<size_t>(count) * sizeof(T));
  }
  const T& operator[](int k) const { return values[k]; }
  T& operator[](int k) { return values[k]; }
  operator const T*() const { return values; }
  operator T*() { return values; }

  template <class Step = T>
  static Vectorized arange(T base = 0, Step step = 1) {
    return make([&](int k) { return static_cast<T>(base + static_cast<T>(k) * step); });
  }
  // The first `count` lanes of b, the others of a.
  static Vectorized set(const Vectorized& a, const Vectorized& b, int64_t count = kSize) {
    return make([&](int k) { return k < count ? b.values[k] : a.values[k]; });
  }
  template <int64_t mask>
  static Vectorized blend(const Vectorized& a, const Vectorized& b) {
    return make([&](int k) { return mask >> k & 1 ? b.values[k] : a.values[k]; });
  }
  // b where the mask has bits, as comparisons make it.
  static Vectorized blendv(const Vectorized& a, const Vectorized& b, const Vectorized& mask) {
    return make([&](int k) { return mask.has_bits(k) ? b.values[k] : a.values[k]; });
  }
  int zero_mask() const {
    int mask = 0;
    for (int k = 0; k < kSize; ++k) mask |= (values[k] == T(0)) << k;
    return mask;
  }
  bool has_inf_nan() const {
    for (int k = 0; k < kSize; ++k)
      if (!std::isfinite(static_cast<double>(values[k]))) return true;
    return false;
  }

  template <class Function>
  Vectorized map(Function function) const {
    return make([&](int k) { return function(values[k]); });
  }
  // function(value) per lane; the lane it computes in is a float for halves.
  template <class Function>
  Vectorized each(Function function) const {
    return make([&](int k) { return static_cast<T>(function(static_cast<opmath<T>>(values[k]))); });
  }
  template <class Function>
  Vectorized with(const Vectorized& other, Function function) const {
    return make([&](int k) {
      return static_cast<T>(function(static_cast<opmath<T>>(values[k]), static_cast<opmath<T>>(other.values[k])));
    });
  }
  // All bits of the lanes where `function` holds, none of the others.
  template <class Function>
  Vectorized where(const Vectorized& other, Function function) const {
    Vectorized made;
    for (int k = 0; k < kSize; ++k)
      std::memset(static_cast<void*>(made.values + k), function(values[k], other.values[k]) ? 0xff : 0, sizeof(T));
    return made;
  }

#define PELLUCID_VECTOR(name)                    \
  Vectorized name() const {                      \
    using std::name;                             \
    return each([](auto x) { return name(x); }); \
  }
  PELLUCID_VECTOR(exp)
  PELLUCID_VECTOR(exp2)
  PELLUCID_VECTOR(expm1)
  PELLUCID_VECTOR(log)
  PELLUCID_VECTOR(log2)
  PELLUCID_VECTOR(log10)
  PELLUCID_VECTOR(log1p)
  PELLUCID_VECTOR(sin)
  PELLUCID_VECTOR(cos)
  PELLUCID_VECTOR(tan)
  PELLUCID_VECTOR(asin)
  PELLUCID_VECTOR(acos)
  PELLUCID_VECTOR(atan)
  PELLUCID_VECTOR(sinh)
  PELLUCID_VECTOR(cosh)
  PELLUCID_VECTOR(tanh)
  PELLUCID_VECTOR(asinh)
  PELLUCID_VECTOR(acosh)
  PELLUCID_VECTOR(atanh)
  PELLUCID_VECTOR(erf)
  PELLUCID_VECTOR(erfc)
  PELLUCID_VECTOR(lgamma)
  PELLUCID_VECTOR(sqrt)
  PELLUCID_VECTOR(ceil)
  PELLUCID_VECTOR(floor)
  PELLUCID_VECTOR(trunc)
#undef PELLUCID_VECTOR
  Vectorized exp_u20() const { return exp(); }
  Vectorized round() const {
    return each([](auto x) { return std::nearbyint(x); });
  }
  Vectorized frac() const { return *this - trunc(); }
  Vectorized rsqrt() const {
    return each([](auto x) { return 1 / std::sqrt(x); });
  }
  Vectorized reciprocal() const {
    return each([](auto x) { return decltype(x)(1) / x; });
  }
  Vectorized neg() const {
    return each([](auto x) { return -x; });
  }
  Vectorized operator-() const { return neg(); }
  Vectorized abs() const {
    if constexpr (std::is_unsigned_v<T>) return *this;
    else return each([](auto x) { return std::abs(x); });
  }
  Vectorized sgn() const {
    return each([](auto x) { return decltype(x)((decltype(x)(0) < x) - (x < decltype(x)(0))); });
  }
  Vectorized isnan() const {
    return where(*this, [](T x, T) { return x != x; });
  }
  Vectorized pow(const Vectorized& other) const {
    return with(other, [](auto x, auto y) { return std::pow(x, y); });
  }
  Vectorized atan2(const Vectorized& other) const {
    return with(other, [](auto x, auto y) { return std::atan2(x, y); });
  }
  Vectorized fmod(const Vectorized& other) const {
    return with(other, [](auto x, auto y) { return std::fmod(x, y); });
  }
  Vectorized hypot(const Vectorized& other) const {
    return with(other, [](auto x, auto y) { return std::hypot(x, y); });
  }
  Vectorized copysign(const Vectorized& other) const {
    return with(other, [](auto x, auto y) { return std::copysign(x, y); });
  }
  Vectorized real() const {
    return each([](auto x) { return decltype(x)(std::real(x)); });
  }
  Vectorized conj() const {
    if constexpr (c10::is_complex<T>::value) return each([](auto z) { return std::conj(z); });
    else return *this;
  }

#define PELLUCID_VECTOR(sign)                                                 \
  friend Vectorized operator sign(const Vectorized& a, const Vectorized& b) { \
    return a.with(b, [](auto x, auto y) { return x sign y; });                \
  }                                                                           \
  Vectorized& operator sign## = (const Vectorized& other) { return *this = *this sign other; }
  PELLUCID_VECTOR(+)
  PELLUCID_VECTOR(-)
  PELLUCID_VECTOR(*)
  PELLUCID_VECTOR(/)
  PELLUCID_VECTOR(<<)
  PELLUCID_VECTOR(>>)
#undef PELLUCID_VECTOR
#define PELLUCID_VECTOR(sign)                                                 \
  friend Vectorized operator sign(const Vectorized& a, const Vectorized& b) { \
    return a.bitwise(b, [](auto x, auto y) { return x sign y; });             \
  }
  PELLUCID_VECTOR(&)
  PELLUCID_VECTOR(|)
  PELLUCID_VECTOR(^)
#undef PELLUCID_VECTOR
  Vectorized operator~() const {
    return bitwise(*this, [](auto x, auto) { return ~x; });
  }
  // A comparison by its sign gives all bits of a lane or none; by its name, one or zero.
#define PELLUCID_VECTOR(sign, name)                                                     \
  friend Vectorized operator sign(const Vectorized& a, const Vectorized& b) {           \
    return a.where(b, [](T x, T y) { return x sign y; });                               \
  }                                                                                     \
  Vectorized name(const Vectorized& other) const {                                      \
    return make([&](int k) { return static_cast<T>(values[k] sign other.values[k]); }); \
  }
  PELLUCID_VECTOR(==, eq)
  PELLUCID_VECTOR(!=, ne)
  PELLUCID_VECTOR(<, lt)
  PELLUCID_VECTOR(<=, le)
  PELLUCID_VECTOR(>, gt)
  PELLUCID_VECTOR(>=, ge)
#undef PELLUCID_VECTOR

  template <class Function>
  static Vectorized make(Function function) {
    Vectorized made;
    for (int k = 0; k < kSize; ++k) made.values[k] = function(k);
    return made;
  }

 private:
  using Bits = int_same_size_t<T>;
  Bits bits(int k) const {
    Bits found;
    std::memcpy(&found, static_cast<const void*>(values + k), sizeof found);
    return found;
  }
  bool has_bits(int k) const { return bits(k) != 0; }
  template <class Function>
  Vectorized bitwise(const Vectorized& other, Function function) const {
    Vectorized made;
    for (int k = 0; k < kSize; ++k) {
      const Bits found = static_cast<Bits>(function(bits(k), other.bits(k)));
      std::memcpy(static_cast<void*>(made.values + k), &found, sizeof found);
    }
    return made;
  }

  alignas(32) T values[kSize];
};

// NaN in either operand is the result.
template <class T>
Vectorized<T> maximum(const Vectorized<T>& a, const Vectorized<T>& b) {
  return a.with(b, [](auto x, auto y) { return x != x || x > y ? x : y; });
}
template <class T>
Vectorized<T> minimum(const Vectorized<T>& a, const Vectorized<T>& b) {
  return a.with(b, [](auto x, auto y) { return x != x || x < y ? x : y; });
}
template <class T>
Vectorized<T> clamp_min(const Vectorized<T>& a, const Vectorized<T>& least) {
  return a.with(least, [](auto x, auto y) { return x < y ? y : x; });
}
template <class T>
Vectorized<T> clamp_max(const Vectorized<T>& a, const Vectorized<T>& most) {
  return a.with(most, [](auto x, auto y) { return x > y ? y : x; });
}
template <class T>
Vectorized<T> clamp(const Vectorized<T>& a, const Vectorized<T>& least, const Vectorized<T>& most) {
  return clamp_max(clamp_min(a, least), most);
}
// a * b + c, each operation rounded.
template <class T>
Vectorized<T> fmadd(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) {
  return a * b + c;
}
template <class T>
Vectorized<T> fmsub(const Vectorized<T>& a, const Vectorized<T>& b, const Vectorized<T>& c) {
  return a * b - c;
}
template <class To, class From>
Vectorized<To> cast(const Vectorized<From>& given) {
  return Vectorized<To>::loadu(static_cast<const From*>(given));
}
template <class From, class To>
void convert(const From* from, To* to, int64_t count) {
  for (int64_t k = 0; k < count; ++k) to[k] = static_cast<To>(from[k]);
}

// The two vectors of floats of one of halves, and back.
template <class T>
std::pair<Vectorized<float>, Vectorized<float>> convert_to_float(const Vectorized<T>& given) {
  constexpr int half = Vectorized<float>::size();
  return {Vectorized<float>::make([&](int k) { return static_cast<float>(given[k]); }),
          Vectorized<float>::make([&](int k) { return static_cast<float>(given[k + half]); })};
}
template <class T>
Vectorized<T> convert_from_float(const Vectorized<float>& first, const Vectorized<float>& second) {
  constexpr int half = Vectorized<float>::size();
  return Vectorized<T>::make([&](int k) { return static_cast<T>(k < half ? first[k] : second[k - half]); });
}
inline auto convert_bfloat16_float(const Vectorized<BFloat16>& given) { return convert_to_float(given); }
inline auto convert_half_float(const Vectorized<Half>& given) { return convert_to_float(given); }
inline auto convert_float_bfloat16(const Vectorized<float>& a, const Vectorized<float>& b) {
  return convert_from_float<BFloat16>(a, b);
}
inline auto convert_float_half(const Vectorized<float>& a, const Vectorized<float>& b) {
  return convert_from_float<Half>(a, b);
}

// -------------------------------------------------------------------------------------- over memory

// to[k] = function(from[k]...) by vectors; the last one may be partly filled. Functions of halves get vectors of floats
// unless they take halves alone.
template <class T, class Function, class... From>
void map_all(const Function& function, T* to, int64_t count, const From*... from) {
  constexpr int64_t size = Vectorized<T>::size();
  const auto apply = [&](const auto&... given) {
    if constexpr (!std::is_same_v<opmath<T>, T> &&
                  std::is_invocable_v<Function, decltype(static_cast<void>(given), Vectorized<float>())...>)
      return convert_from_float<T>(function(convert_to_float(given).first...),
                                   function(convert_to_float(given).second...));
    else return function(given...);
  };
  for (int64_t k = 0; k < count; k += size) {
    const int64_t lanes = std::min(size, count - k);
    apply(Vectorized<T>::loadu(from + k, lanes)...).store(to + k, lanes);
  }
}
template <class T, class Function>
void map(const Function& function, T* to, const T* a, int64_t count) {
  map_all(function, to, count, a);
}
template <class T, class Function>
void map2(const Function& function, T* to, const T* a, const T* b, int64_t count) {
  map_all(function, to, count, a, b);
}
template <class T, class Function>
void map3(const Function& function, T* to, const T* a, const T* b, const T* c, int64_t count) {
  map_all(function, to, count, a, b, c);
}
template <class T, class Function>
void map4(const Function& function, T* to, const T* a, const T* b, const T* c, const T* d, int64_t count) {
  map_all(function, to, count, a, b, c, d);
}

// The lanes of a vector, combined in order.
template <class T, class Function>
T vec_reduce_all(const Function& combine, Vectorized<T> given, int64_t lanes = Vectorized<T>::size()) {
  Vectorized<T> sum(given[0]);
  for (int k = 1; k < lanes; ++k) sum = combine(sum, Vectorized<T>(given[k]));
  return sum[0];
}
template <class T, class Map, class Combine, class... From>
T map_reduce_over(const Map& map, const Combine& combine, int64_t count, const From*... from) {
  constexpr int64_t size = Vectorized<T>::size();
  if (count < size) return vec_reduce_all<T>(combine, map(Vectorized<T>::loadu(from, count)...), count);
  Vectorized<T> sum = map(Vectorized<T>::loadu(from)...);
  int64_t k = size;
  for (; k + size <= count; k += size) sum = combine(sum, map(Vectorized<T>::loadu(from + k)...));
  if (k < count)
    sum = Vectorized<T>::set(sum, combine(sum, map(Vectorized<T>::loadu(from + k, count - k)...)), count - k);
  return vec_reduce_all<T>(combine, sum);
}
template <class T, class Combine>
T reduce_all(const Combine& combine, const T* from, int64_t count) {
  return map_reduce_over<T>([](Vectorized<T> x) { return x; }, combine, count, from);
}
template <class T, class Map, class Combine>
T map_reduce_all(const Map& map, const Combine& combine, const T* from, int64_t count) {
  return map_reduce_over<T>(map, combine, count, from);
}
template <class T, class Map, class Combine>
T map2_reduce_all(const Map& map, const Combine& combine, const T* a, const T* b, int64_t count) {
  return map_reduce_over<T>(map, combine, count, a, b);
}

}  // namespace at::vec
