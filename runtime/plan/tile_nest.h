// Nests as tile programs: the indices of all axes, values, and stores element by element.
#pragma once

#include "plan/tile_evaluation.h"

namespace pellucid::tile {

// Runs the whole nest. Returns a status.
int64_t run_nest(const Call& call);

}  // namespace pellucid::tile
