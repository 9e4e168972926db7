// 8-bit floats: decoding, and rounding of float32 to nearest, ties to even. The same rules as in
// src/pellucid_compiler/ir/float8.py. For conversions one element at a time.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "core/element.h"

namespace pellucid {

template <int mantissa, int bias, Float8Form form>
float decode(Float8<mantissa, bias, form> x) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  if constexpr (form == Float8Form::Power) {
    return x.code == 0xFF ? kNaN : std::ldexp(1.0f, int{x.code} - bias);
  } else {
    const int magnitude = x.code & 0x7F;
    const float sign = x.code & 0x80 ? -1.0f : 1.0f;
    if (form == Float8Form::UnsignedZero && x.code == 0x80) return kNaN;
    if (form == Float8Form::Saturating && magnitude == 0x7F) return std::copysign(kNaN, sign);
    if (form == Float8Form::Infinite && magnitude >= 0x7C)
      return std::copysign(magnitude == 0x7C ? std::numeric_limits<float>::infinity() : kNaN, sign);
    const int exponent = magnitude >> mantissa, rest = magnitude & ((1 << mantissa) - 1);
    const int whole = exponent ? rest + (1 << mantissa) : rest;
    return sign * std::ldexp(static_cast<float>(whole), (exponent ? exponent : 1) - bias - mantissa);
  }
}

template <class To>
struct Float8Encoder;
template <int mantissa, int bias, Float8Form form>
struct Float8Encoder<Float8<mantissa, bias, form>> {
  using Code = Float8<mantissa, bias, form>;
  // The code of the largest finite number, and the code written on overflow.
  static constexpr uint32_t kMost = form == Float8Form::Infinite ? 0x7B : form == Float8Form::Saturating ? 0x7E : 0x7F;
  static constexpr uint32_t kBeyond = form == Float8Form::Saturating ? kMost
                                      : form == Float8Form::Infinite ? 0x7C
                                                                     : 0x80;

  static Code of(float value) {
    const auto bits = std::bit_cast<uint32_t>(value);
    const uint32_t sign = bits >> 24 & 0x80, magnitude = bits & 0x7FFFFFFF;
    constexpr bool is_unsigned_zero = form == Float8Form::UnsignedZero;
    if constexpr (form == Float8Form::Power) return power(bits);
    if (magnitude > 0x7F800000) return {static_cast<uint8_t>(is_unsigned_zero ? 0x80 : sign | 0x7F)};
    const uint32_t code = rounded(magnitude);
    if (code > kMost) return {static_cast<uint8_t>(is_unsigned_zero ? kBeyond : sign | kBeyond)};
    return {static_cast<uint8_t>(is_unsigned_zero && !code ? 0 : sign | code)};
  }

 private:
  static uint32_t rounded(uint32_t magnitude) {
    constexpr int kShift = 23 - mantissa;
    constexpr uint32_t kLeast = static_cast<uint32_t>(128 - bias) << 23;
    if (magnitude < kLeast)
      return static_cast<uint32_t>(std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), bias + mantissa - 1)));
    const uint32_t half = (1u << (kShift - 1)) - 1;
    return ((magnitude + half + (magnitude >> kShift & 1)) >> kShift) - (static_cast<uint32_t>(127 - bias) << mantissa);
  }
  static Code power(uint32_t bits) {
    const uint32_t exponent = bits >> 23 & 0xFF;
    const bool up = (bits & 0x400000) && exponent != 0xFF && (exponent || (bits & 0x3FFFFF));
    return {static_cast<uint8_t>(exponent + up)};
  }
};

}  // namespace pellucid
