// Library routines that order the elements of rows: `argsort`, `argtopk`, and `argrank`, which finds one of them.
//
// The order is total, so the result does not depend on how the work is split: by value, NaN after every number,
// equal values by position. plan/library.h runs the routines on dense tensors.
#pragma once

namespace pellucid {

void register_sort_routines();
void register_search();  // searchsorted

}  // namespace pellucid
