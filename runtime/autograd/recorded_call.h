// Records a functional call that ran by giving its results a node; and repeats recorded calls. Called by
// autograd/handler.cpp.
#pragma once

#include <memory>
#include <span>

#include "autograd/node_facts.h"
#include "core/call_facts.h"

namespace pellucid {

// `extra`: the extra results of the plan's forward op.
void record_call(const OpCall& call, Ref<NodeFacts> facts, std::span<const Tensor> extra);

struct OpNode;
// Makes `node` the history of the call's results.
void attach_results(const OpCall& call, Ref<OpNode> node);

// Records `call` with the results of `forward`, the plan's op that ran instead. Returns the facts, which are made
// if not given.
Ref<NodeFacts> record_forward(OpCall& call, const OpCall& forward, const SharedPlan& plan, Ref<NodeFacts> facts);

// The prepared form of a recorded call, from that of its computation (that of the plan's forward op if it has
// one). Null if there is no prepared computation.
std::unique_ptr<Prepared> prepare_recorded(std::unique_ptr<Prepared> computation, Ref<NodeFacts> facts);

}  // namespace pellucid
