// The in-memory type of each dtype's elements: `ElementOf<dtype>::Type` (abi/dtypes.h) is one of these or a C++
// arithmetic type.
#pragma once

#include "abi/dtypes.h"

namespace pellucid {

struct Boolean {
  uint8_t value;
};
struct Half {
  uint16_t bits;
};
struct BFloat {
  uint16_t bits;
};
// Encoded and decoded by runtime/core/float8.h.
template <int mantissa, int bias, Float8Form form>
struct Float8 {
  uint8_t code;
};
template <class T>
struct ComplexOf {
  T real, imag;
};

}  // namespace pellucid
