// Prepared calls: a plan reduced to launches, once every size, stride and number of its call is known.
//
// A small functional call repeated with the same facts runs as a list of kernel launches, fills and views with
// their arguments, without computing a key, running the register program or placing operands. The list is
// recorded while the plan runs: each launch passes KernelRef::run, which reports it (core/launch.h). A call is
// not prepared if its facts do not determine its launches: when threads share work, operands are copied to
// scratch memory, operands share memory, or sizes depend on data. Called by ops/graph_op.cpp, and by
// plan/recurrence.cpp for the elements of a recurrence.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/call_facts.h"
#include "kernels/prepared_action.h"
#include "plan/plan.h"

namespace pellucid {

class Frame;
using PreparedCalls = CallCache<struct PreparedCall>;

// The tensors that Make and View define.
Tensor made_by(const PreparedAction& action);
Tensor view_by(const PreparedAction& action, TensorImpl& source, bool detached);
// Launches the kernel of a Launch on `values`, which are indexed by the plan's numbers; returns its status.
int64_t launch(const PreparedAction& action, TensorImpl* const* values);
// The same on the memory of its pointers.
int64_t launch(const PreparedAction& action, char* const* data);

struct PreparedCall final : Prepared {
  PreparedCall(const Plan& of, std::shared_ptr<const void> keeps, bool one_tensor, const CallFacts& facts,
               PreparedActions list)
      : plan(of), owner(std::move(keeps)), gives_one_tensor(one_tensor),
        is_view(one_tensor && list.size() == 1 && list[0].kind == PreparedAction::Kind::View),
        words(facts.words().begin(), facts.words().end()), actions(std::move(list)) {}
  bool run(OpCall& call, std::span<TensorImpl* const> inputs) const override;
  bool list(size_t num_tensors, PreparedList& into) const override;
  void fail(const OpRecord& op, const PreparedAction& action, int64_t status) const override;

  const Plan& plan;
  const std::shared_ptr<const void> owner;  // of the plan, if the plan may be dropped
  bool gives_one_tensor;
  bool is_view;  // a single action makes the result, a view of an input
  std::vector<uint64_t> words;
  PreparedActions actions;
};

// Runs the frame's steps as Frame::run does, and records them. nullopt if they cannot be repeated.
std::optional<PreparedActions> run_and_record(Frame& frame);
// The same for a call repeated with the same facts.
std::unique_ptr<PreparedCall> run_and_prepare(Frame& frame, std::shared_ptr<const void> owner, const CallFacts& facts);

}  // namespace pellucid
