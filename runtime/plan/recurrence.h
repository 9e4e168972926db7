// Recurrences: runs the step's own plan once per element, writing directly to where the results are stacked.
//
// If the step computes every lane (an example of a batch) from that lane alone, blocks of lanes run on separate
// threads, each through all elements, without synchronisation between elements. The plan says which dims the lanes
// follow (lower/lanes.py); the number of blocks depends on sizes alone. From the third element on, a block repeats the
// launches of its second element, which plan/prepared.h recorded, with the operands' addresses advanced.
#pragma once

#include "plan/executor.h"

namespace pellucid {

void run_recurrence_step(Frame& frame, const Step& step);

}  // namespace pellucid
