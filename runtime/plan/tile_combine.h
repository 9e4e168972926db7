// Combining and ordering single elements of any dtype, for the tile interpreter.
#pragma once

#include "abi/codes.h"
#include "core/dtype.h"

namespace pellucid::tile {

// Combines the element at `to` with the one at `from`.
void combine_element(Combine combine, DType dtype, char* to, const char* from);
// Whether a value of a compute dtype replaces the current best: NaN beats numbers, nothing beats NaN.
bool is_better(Combine combine, DType dtype, const char* value, const char* held);

}  // namespace pellucid::tile
