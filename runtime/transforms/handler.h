// The generic handler at Key::Transforms: one function serves every op.
//
// It finds the innermost level among the arguments and runs the op according to that level's kind: a batch level
// (batching.cpp) over all examples at once, a forward level (forward.cpp) on values and on tangents. The ops they
// call are dispatched again and reach the next outer level. Rules come from the declarations (find_rule in
// autograd/derivative.h); ops without a declaration run example by example.
#pragma once

#include "core/op_record.h"
#include "transforms/level.h"

namespace pellucid {

void transform_handler(OpCall& call, void*);  // the key's fallback
void register_transforms();                   // called once, at start-up
void register_view_rules();                   // called once, when the op table is loaded: views that have no rule

void run_batched(OpCall& call, const Level& level);
void run_forward(OpCall& call, const Level& level);

}  // namespace pellucid
