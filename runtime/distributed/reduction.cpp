#include "distributed/reduction.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <complex>
#include <cstring>
#include <type_traits>

namespace pellucid::distributed {

namespace {

constexpr int64_t kBlock = 512;  // elements: the partial sums of 64 ranks stay in the first-level cache
constexpr int kLevels = 18;      // for 2**17 ranks, and the current block
// Operands are prefetched this far ahead, a strip at a time: the processor's own prefetching stops at the end of each
// page. A sum of operands in memory takes 0.85 of the time, one of operands in a cache as long as without.
constexpr int64_t kAheadBytes = 2048, kStripBytes = 128, kLineBytes = 64;

struct Float16 {
  uint16_t bits;
  explicit operator float() const { return _cvtsh_ss(bits); }
  static Float16 of(float value) { return {_cvtss_sh(value, _MM_FROUND_CUR_DIRECTION)}; }
};
struct BFloat16 {
  uint16_t bits;
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  static BFloat16 of(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    if ((word & 0x7fffffff) > 0x7f800000) return {static_cast<uint16_t>(word >> 16 | 0x40)};
    return {static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16)};
  }
};

// The type in which elements are accumulated.
template <class T>
struct Wide {
  using Type = T;
};
template <>
struct Wide<Float16> {
  using Type = float;
};
template <>
struct Wide<BFloat16> {
  using Type = float;
};
template <class T>
using WideOf = typename Wide<T>::Type;

template <class T>
T narrow(WideOf<T> value) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) return T::of(value);
  else return static_cast<T>(value);
}

template <class T>
constexpr bool kIsComplex = false;
template <class T>
constexpr bool kIsComplex<std::complex<T>> = true;

// Signed integers wrap: they are added as unsigned ones.
template <class T, class F>
T wrapping(T a, T b, F f) {
  if constexpr (std::is_same_v<T, bool>) {
    return f(a, b);
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>) return value != value;
  else return false;
}

template <Reduction reduction, class T>
T join(T a, T b) {
  using enum Reduction;
  if constexpr (reduction == Sum || reduction == Avg || reduction == PremulSum)
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  else if constexpr (reduction == Product) return wrapping(a, b, [](auto x, auto y) { return x * y; });
  else if constexpr (kIsComplex<T>) return a;  // not defined
  else if constexpr (reduction == Min) return is_nan(a) || a < b ? a : b;
  else if constexpr (reduction == Max) return is_nan(a) || a > b ? a : b;
  else if constexpr (std::is_floating_point_v<T>) return a;  // not defined
  else if constexpr (reduction == Band) return a & b;
  else if constexpr (reduction == Bor) return a | b;
  else return a ^ b;
}

template <class W>
W divided(W value, int64_t ranks) {
  if constexpr (kIsComplex<W>) return value / static_cast<typename W::value_type>(ranks);
  else if constexpr (std::is_integral_v<W> && !std::is_same_v<W, bool>)
    return static_cast<W>(value / static_cast<W>(ranks));
  else if constexpr (std::is_same_v<W, bool>) return value;
  else return value / static_cast<W>(ranks);
}

template <class W>
W scaled(W value, double factor) {
  if constexpr (kIsComplex<W>) return value * static_cast<typename W::value_type>(factor);
  else return static_cast<W>(value * static_cast<W>(factor));
}

template <Reduction reduction, class T>
struct Combiner {
  using W = WideOf<T>;
  std::span<const char* const> sources;
  std::span<const double> factors;
  T* out;

  // One rank's operand.
  struct Operand {
    const T* values;
    double factor;
    W operator[](int64_t i) const {
      const W value = static_cast<W>(values[i]);
      if constexpr (reduction == Reduction::PremulSum) return scaled(value, factor);
      return value;
    }
  };
  Operand operand(size_t rank) const {
    return {reinterpret_cast<const T*>(sources[rank]), reduction == Reduction::PremulSum ? factors[rank] : 1.0};
  }

  T finish(W value) const {
    if constexpr (reduction == Reduction::Avg) value = divided(value, static_cast<int64_t>(sources.size()));
    return narrow<T>(value);
  }

  static W joined(W a, W b) { return join<reduction, W>(a, b); }

  // `out` may be one of the operands, of which each element is read before it is written: the loops may be vectorised.
  template <size_t ranks, class Value>
  void for_each(int64_t count, Value value) const {
    constexpr auto strip = kStripBytes / static_cast<int64_t>(sizeof(T));
    T* const target = out;
    std::array<const char*, ranks> operands;
    std::copy_n(sources.begin(), ranks, operands.begin());
    int64_t begin = 0;
    for (; begin + strip <= count; begin += strip) {
      const int64_t ahead = begin * static_cast<int64_t>(sizeof(T)) + kAheadBytes;
      for (const char* const operand : operands)
        for (int64_t line = 0; line < kStripBytes; line += kLineBytes) __builtin_prefetch(operand + ahead + line);
#pragma GCC ivdep
      for (int64_t i = begin; i < begin + strip; ++i) target[i] = finish(value(i));
    }
    for (; begin < count; ++begin) target[begin] = finish(value(begin));
  }

  void run(int64_t count) const {
    if (sources.size() == 2)
      for_each<2>(count, [a = operand(0), b = operand(1)](int64_t i) { return joined(a[i], b[i]); });
    else if (sources.size() == 4)
      for_each<4>(count, [a = operand(0), b = operand(1), c = operand(2), d = operand(3)](int64_t i) {
        return joined(joined(a[i], b[i]), joined(c[i], d[i]));
      });
    else
      for (int64_t begin = 0; begin < count; begin += kBlock) run_block(begin, std::min(kBlock, count - begin));
  }

  // Works like a binary counter: level k holds the sum of 2**k ranks. The remaining levels are added from the lowest
  // up.
  void run_block(int64_t begin, int64_t length) const {
    alignas(64) W levels[kLevels][kBlock];
    uint64_t filled = 0;
    W* current = levels[kLevels - 1];
    const auto add_level = [&](int level) {
      for (int64_t i = 0; i < length; ++i) current[i] = joined(levels[level][i], current[i]);
    };
    for (size_t rank = 0; rank < sources.size(); ++rank) {
      const Operand own = operand(rank);
      for (int64_t i = 0; i < length; ++i) current[i] = own[begin + i];
      int level = 0;
      for (; filled >> level & 1; ++level) add_level(level);
      filled = static_cast<uint64_t>(rank) + 1;
      if (rank + 1 < sources.size()) std::copy_n(current, length, levels[level]);
    }
    const auto before_last = static_cast<uint64_t>(sources.size()) - 1;
    // `current` already has the levels that the last rank carried into: the trailing ones of the count before it.
    for (int level = std::countr_one(before_last); level < kLevels - 1; ++level)
      if (before_last >> level & 1) add_level(level);
    for (int64_t i = 0; i < length; ++i) out[begin + i] = finish(current[i]);
  }
};

template <Reduction reduction>
void combine_as(DType dtype, std::span<const char* const> sources, std::span<const double> factors, char* out,
                int64_t count) {
  const auto run = [&]<class T>() { Combiner<reduction, T>{sources, factors, reinterpret_cast<T*>(out)}.run(count); };
  switch (dtype) {
    case DType::Bool: return run.template operator()<bool>();
    case DType::UInt8: return run.template operator()<uint8_t>();
    case DType::Int8: return run.template operator()<int8_t>();
    case DType::Int16: return run.template operator()<int16_t>();
    case DType::Int32: return run.template operator()<int32_t>();
    case DType::Int64: return run.template operator()<int64_t>();
    case DType::Float16: return run.template operator()<Float16>();
    case DType::BFloat16: return run.template operator()<BFloat16>();
    case DType::Float32: return run.template operator()<float>();
    case DType::Float64: return run.template operator()<double>();
    case DType::Complex64: return run.template operator()<std::complex<float>>();
    case DType::Complex128: return run.template operator()<std::complex<double>>();
    default: return;  // is_defined() is false
  }
}

}  // namespace

bool is_defined(DType dtype, Reduction reduction) {
  using enum Reduction;
  const bool is_of_order = reduction == Min || reduction == Max;
  const bool is_of_bits = reduction == Band || reduction == Bor || reduction == Bxor;
  if (static_cast<int>(dtype) > static_cast<int>(DType::Complex128)) return false;  // storage formats
  if (category(dtype) == DTypeCategory::Complex) return !is_of_order && !is_of_bits;
  return category(dtype) != DTypeCategory::Floating || !is_of_bits;
}

void combine(DType dtype, Reduction reduction, std::span<const char* const> sources, std::span<const double> factors,
             char* out, int64_t count) {
  if (sources.size() == 1 && reduction != Reduction::PremulSum) {
    const size_t nbytes = static_cast<size_t>(count) * item_size(dtype);
    if (out != sources[0] && nbytes) std::memcpy(out, sources[0], nbytes);
    return;
  }
  using enum Reduction;
  switch (reduction) {
    case Sum: return combine_as<Sum>(dtype, sources, factors, out, count);
    case Avg: return combine_as<Avg>(dtype, sources, factors, out, count);
    case Product: return combine_as<Product>(dtype, sources, factors, out, count);
    case Min: return combine_as<Min>(dtype, sources, factors, out, count);
    case Max: return combine_as<Max>(dtype, sources, factors, out, count);
    case Band: return combine_as<Band>(dtype, sources, factors, out, count);
    case Bor: return combine_as<Bor>(dtype, sources, factors, out, count);
    case Bxor: return combine_as<Bxor>(dtype, sources, factors, out, count);
    case PremulSum: return combine_as<PremulSum>(dtype, sources, factors, out, count);
  }
}

}  // namespace pellucid::distributed
