#include "kernels/conversion.h"

#include <immintrin.h>

#include <cstring>
#include <type_traits>
#include <utility>

#include "core/element.h"
#include "core/error.h"
#include "core/float8.h"
#include "kernels/pack.h"

namespace pellucid {
namespace {

// Widens an element to int64_t, uint64_t, float, double or ComplexOf, without loss.
inline int64_t widen(Boolean x) { return x.value != 0; }
inline uint64_t widen(uint64_t x) { return x; }
template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, uint64_t>)
int64_t widen(T x) {
  return x;
}
inline float widen(Half x) { return _cvtsh_ss(x.bits); }
inline float widen(BFloat x) {
  const uint32_t bits = uint32_t{x.bits} << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}
inline float widen(float x) { return x; }
inline double widen(double x) { return x; }
template <class T>
ComplexOf<T> widen(ComplexOf<T> x) {
  return x;
}
inline ComplexOf<float> widen(ComplexOf<Half> x) { return {widen(x.real), widen(x.imag)}; }
template <int mantissa, int bias, Float8Form form>
float widen(Float8<mantissa, bias, form> x) {
  return decode(x);
}

template <class T>
T real_part(T x) {
  return x;
}
template <class T>
T real_part(ComplexOf<T> x) {
  return x.real;
}
template <class T>
T imaginary_part(T) {
  return T{0};
}
template <class T>
T imaginary_part(ComplexOf<T> x) {
  return x.imag;
}

// As x86 converts: from 2**63 on, the excess is converted and the top bit is set.
inline uint64_t to_uint64(double x) {
  constexpr double kLimit = 0x1p63;
  if (!(x >= kLimit)) return static_cast<uint64_t>(_mm_cvttsd_si64(_mm_set_sd(x)));
  return static_cast<uint64_t>(_mm_cvttsd_si64(_mm_set_sd(x - kLimit))) ^ (uint64_t{1} << 63);
}

template <class T>
constexpr bool kIsFloat8 = false;
template <int mantissa, int bias, Float8Form form>
constexpr bool kIsFloat8<Float8<mantissa, bias, form>> = true;

template <class To, class Wide>
To narrow(Wide x) {
  const auto real = real_part(x);
  if constexpr (std::is_same_v<To, Boolean>) {
    return {static_cast<uint8_t>(real != 0 || imaginary_part(x) != 0)};
  } else if constexpr (std::is_same_v<To, Half>) {
    return {_cvtss_sh(static_cast<float>(real), _MM_FROUND_CUR_DIRECTION)};
  } else if constexpr (std::is_same_v<To, BFloat>) {
    const float value = static_cast<float>(real);
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (value != value) return {0x7FC0};
    return {static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)};
  } else if constexpr (std::is_integral_v<To>) {
    // The conversion instruction defines NaN and overflow; C++ leaves them undefined.
    if constexpr (std::is_integral_v<decltype(real)>) return static_cast<To>(real);
    else if constexpr (std::is_same_v<To, uint64_t>) return to_uint64(static_cast<double>(real));
    else if constexpr (std::is_same_v<To, int32_t>) return _mm_cvttsd_si32(_mm_set_sd(static_cast<double>(real)));
    else return static_cast<To>(_mm_cvttsd_si64(_mm_set_sd(static_cast<double>(real))));
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(real);
  } else if constexpr (kIsFloat8<To>) {
    return Float8Encoder<To>::of(static_cast<float>(real));
  } else if constexpr (std::is_same_v<To, ComplexOf<Half>>) {
    return {narrow<Half>(real), narrow<Half>(imaginary_part(x))};
  } else {
    using Part = decltype(To::real);
    return {static_cast<Part>(real), static_cast<Part>(imaginary_part(x))};
  }
}

// A map kernel with one input and one output.
template <class To, class From>
int64_t convert_elements(char* const* data, const int64_t* sizes, const int64_t* strides, const uint64_t*) {
  for (int64_t outer = 0; outer < sizes[1]; ++outer) {
    char* write = data[0] + outer * strides[1];
    const char* read = data[1] + outer * strides[3];
    for (int64_t inner = 0; inner < sizes[0]; ++inner, write += strides[0], read += strides[2]) {
      From element;
      std::memcpy(&element, read, sizeof element);
      To result;
      if constexpr (std::is_same_v<To, From>) result = element;
      else result = narrow<To>(widen(element));
      std::memcpy(write, &result, sizeof result);
    }
  }
  return 0;
}

template <size_t... Pair>
constexpr auto make_converters(std::index_sequence<Pair...>) {
  struct Table {
    KernelFunction entry[sizeof...(Pair)];
  };
  return Table{{&convert_elements<typename ElementOf<static_cast<DType>(Pair / kNumValued)>::Type,
                                  typename ElementOf<static_cast<DType>(Pair % kNumValued)>::Type>...}};
}
constexpr auto kConverters = make_converters(std::make_index_sequence<kNumValued * kNumValued>{});

struct Conversion {
  explicit Conversion(KernelFunction converter) : kernel{.function{converter}, .resolved{true}} {}
  KernelRef kernel;
  std::atomic<bool> installed{false};  // the kernel should be looked up in the pack
};
struct Conversions {
  Conversion entry[kNumValued * kNumValued];
  Conversion& of(DType to, DType from) { return entry[static_cast<int>(to) * kNumValued + static_cast<int>(from)]; }
};

template <size_t... Pair>
Conversions make_conversions(std::index_sequence<Pair...>) {
  return {{Conversion(kConverters.entry[Pair])...}};
}
// Made at first use, because nothing may run before the processor is checked. Never destroyed: threads may
// outlive the program's end.
Conversions& conversions() {
  static auto* const all = new Conversions(make_conversions(std::make_index_sequence<kNumValued * kNumValued>{}));
  return *all;
}

}  // namespace

KernelRef& conversion_kernel(DType to, DType from) {
  if (is_opaque(to) || is_opaque(from)) [[unlikely]]
    raise_without_values("copy_", is_opaque(to) ? to : from);
  Conversion& conversion = conversions().of(to, from);
  if (conversion.installed.load(std::memory_order_acquire)) [[unlikely]] {
    if (KernelFunction kernel = find_in_packs(conversion.kernel.id)) conversion.kernel.function = kernel;
    conversion.installed = false;
  }
  return conversion.kernel;
}

void convert(DType to_dtype, char* to, DType from_dtype, const char* from, const Run& run) {
  const int64_t item = static_cast<int64_t>(item_size(to_dtype));
  if (to_dtype == from_dtype && run.to_strides[0] == item && run.from_strides[0] == item) {
    for (int64_t outer = 0; outer < run.sizes[1]; ++outer)
      std::memmove(to + outer * run.to_strides[1], from + outer * run.from_strides[1],
                   static_cast<size_t>(run.sizes[0] * item));
    return;
  }
  if (is_opaque(to_dtype)) [[unlikely]] {
    if (to_dtype != from_dtype) raise_without_values("copy_", to_dtype);
    return convert(carrier(to_dtype), to, carrier(from_dtype), from, run);
  }
  char* const data[2] = {to, const_cast<char*>(from)};
  const int64_t strides[4] = {run.to_strides[0], run.to_strides[1], run.from_strides[0], run.from_strides[1]};
  if (run.sizes[0] == 1 && run.sizes[1] == 1) {  // converting one element takes less time than a kernel's prologue
    kConverters.entry[static_cast<int>(to_dtype) * kNumValued + static_cast<int>(from_dtype)](data, run.sizes, strides,
                                                                                              nullptr);
    return;
  }
  conversion_kernel(to_dtype, from_dtype).run(data, run.sizes, strides, nullptr);
}

void install_conversion(DType to, DType from, const KernelId& id) {
  Conversion& conversion = conversions().of(to, from);
  conversion.kernel.id = id;
  conversion.installed.store(true, std::memory_order_release);
}

}  // namespace pellucid
