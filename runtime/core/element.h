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
template <class T>
struct ComplexOf {
  T real, imag;
};

}  // namespace pellucid
