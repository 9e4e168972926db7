// The steps of a plan, one function per kind; `run_step` picks it.
#pragma once

#include "exec/executor.h"

namespace pellucid {

void run_step(Frame& frame, const Step& step);

}  // namespace pellucid
