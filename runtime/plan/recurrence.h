// Recurrences: the step's own plan once per element, which writes where the results are stacked.
//
// Where the step computes every lane (an example of a batch) from that lane alone, blocks of lanes run
// on threads of their own, each through all elements: nothing waits between elements. The plan says
// which dims the lanes follow (lower/lanes.py); how many blocks there are follows from the
// sizes alone. From the third element on a block repeats what its second one launched, from the list
// that plan/prepared.h wrote down, with the operands' places moved.
#pragma once

#include "plan/executor.h"

namespace pellucid {

void run_recurrence_step(Frame& frame, const Step& step);

}  // namespace pellucid
