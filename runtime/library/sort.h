// Library routines that order the elements of rows: `argsort` and `argtopk`.
//
// The order is total, so the result is one and the same however the work is split: by value, NaN
// after every number, equal values by their place. plan/library.h runs them on dense tensors.
#pragma once

namespace pellucid {

void register_sort_routines();
void register_search();  // searchsorted

}  // namespace pellucid
