// Runs steps together, block by block: the scores of attention never leave the cache.
//
// The plan says which axes its steps share and in which order they are walked (lower/blocks.py).
// The last shared axis is cut into pieces so long that what the steps hand to each other fits the cache.
// Pieces follow from the sizes alone, and what is added is added in order, so the bits do not depend on
// the number of threads.
#pragma once

#include "plan/executor.h"

namespace pellucid {

void run_block_step(Frame& frame, const Step& step);

}  // namespace pellucid
