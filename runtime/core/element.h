// What an element of each dtype is in memory: `ElementOf<dtype>::Type` (abi/dtypes.h) names one of these or a
// number of C++.
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
// runtime/core/float8.h reads and writes them.
template <int mantissa, int bias, Float8Form form>
struct Float8 {
  uint8_t code;
};
template <class T>
struct ComplexOf {
  T real, imag;
};

}  // namespace pellucid
