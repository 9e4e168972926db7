// The recording of a functional call that ran: its node, given to its results; and repeated calls
// with what they record. Called by autograd/handler.cpp.
#pragma once

#include <memory>
#include <span>

#include "autograd/node_facts.h"
#include "core/call_facts.h"

namespace pellucid {

// `extra`: the extra results of the plan's forward op.
void record_call(const OpCall& call, Ref<NodeFacts> facts, std::span<const Tensor> extra);

struct OpNode;
// Gives the results of a call their node.
void attach_results(const OpCall& call, Ref<OpNode> node);

// Records `call` by the results of `forward`, the plan's op that ran in its place. Returns the facts, which are made
// where none are given.
Ref<NodeFacts> record_forward(OpCall& call, const OpCall& forward, const SharedPlan& plan, Ref<NodeFacts> facts);

// The prepared form of a recorded call, given that of its computation (of the plan's forward op if it has one).
// Null without a computation.
std::unique_ptr<Prepared> prepare_recorded(std::unique_ptr<Prepared> computation, Ref<NodeFacts> facts);

}  // namespace pellucid
