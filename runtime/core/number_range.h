// Which numbers a dtype can hold, by PyTorch's rules for converting a number to an element.
#pragma once

#include "core/dtype.h"
#include "core/value.h"

namespace pellucid {

// Whether a real number converts without overflow. uint8 also accepts negative numbers whose magnitude fits (they
// wrap); floating-point dtypes accept infinities and NaN; bool accepts everything.
bool number_fits(const Value& number, DType dtype);

// "fill_: the number 300 cannot be converted to uint8 without overflow; ..."
[[noreturn]] void raise_unfit_number(const char* op, const Value& number, DType dtype);

}  // namespace pellucid
