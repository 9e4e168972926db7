// Runs several steps together, block by block, so that intermediates such as attention scores stay in the cache.
//
// The plan says which axes its steps share and in which order they are walked (lower/blocks.py). The last shared
// axis is split into pieces such that the values passed between steps fit the cache. Pieces depend on sizes alone
// and sums are accumulated in order, so the bits do not depend on the number of threads.
#pragma once

#include "plan/executor.h"

namespace pellucid {

void run_block_step(Frame& frame, const Step& step);

}  // namespace pellucid
