// Which numbers a dtype can hold, as PyTorch decides it where a number becomes an element.
#pragma once

#include "core/dtype.h"
#include "core/value.h"

namespace pellucid {

// Whether a real number converts without overflow. uint8 also takes the negative numbers whose
// magnitude it holds, which wrap; floating-point dtypes take infinities and NaN; bool takes all.
bool number_fits(const Value& number, DType dtype);

// "fill_: the number 300 cannot be converted to uint8 without overflow; ..."
[[noreturn]] void raise_unfit_number(const char* op, const Value& number, DType dtype);

}  // namespace pellucid
