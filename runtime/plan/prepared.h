// Prepared calls: what remains of a plan once every size, stride and number of its call is known.
//
// A small functional call repeated with the same facts runs as a list of kernel launches, fills
// and views with their arguments; key, register program and placement are left out. The list is
// written down while the plan runs: each launch passes KernelRef::run, which reports it (core/launch.h).
// What cannot be repeated from the facts alone (work that threads share, copies into scratch memory,
// operands that share memory, sizes that follow from data) is not prepared and keeps taking the long way.
// Called by ops/graph_op.cpp, and by plan/recurrence.cpp for the elements of a recurrence.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/call_facts.h"
#include "kernels/copy.h"
#include "plan/plan.h"

namespace pellucid {

class Frame;
using PreparedCalls = CallCache<struct PreparedCall>;

// A kernel's argument: `offset` bytes from the first element of a value, or null.
struct PreparedPointer {
  uint16_t value;
  int64_t offset;
};
constexpr uint16_t kNullPointer = UINT16_MAX;

struct PreparedAction {
  enum class Kind : uint8_t { Make, Fill, View, Launch };
  Kind kind = Kind::Make;
  bool needs_workspace = false;  // of Launch: the first parameter is memory of the running thread
  uint16_t value = 0;            // of Make, Fill, View: what it defines or fills
  uint16_t source = 0;           // of View
  DType dtype = DType::Float32;  // of Make
  int64_t offset = 0;            // of View: elements from the source's first
  const Step* step = nullptr;    // of Launch
  Element element{};             // of Fill
  KernelRef* kernel = nullptr;   // of Launch
  std::vector<PreparedPointer> pointers;
  std::optional<Geometry> geometry;     // of Make and View: the value's, where one can hold it
  std::vector<int64_t> sizes, strides;  // likewise, else; of Launch: the kernel's
  std::vector<uint64_t> params;
};

using PreparedActions = std::vector<PreparedAction>;

// What Make and View define, from the actions' facts.
Tensor made_by(const PreparedAction& action);
Tensor view_by(const PreparedAction& action, TensorImpl& source, bool detached);
// Starts the kernel of a Launch on `values`, by the plan's numbers; returns its status.
int64_t launch(const PreparedAction& action, TensorImpl* const* values);

struct PreparedCall final : Prepared {
  PreparedCall(const Plan& of, std::shared_ptr<const void> keeps, bool one_tensor, const CallFacts& facts,
               PreparedActions list)
      : plan(of), owner(std::move(keeps)), gives_one_tensor(one_tensor),
        is_view(one_tensor && list.size() == 1 && list[0].kind == PreparedAction::Kind::View),
        words(facts.words().begin(), facts.words().end()), actions(std::move(list)) {}
  bool run(OpCall& call, std::span<TensorImpl* const> inputs) const override;

  const Plan& plan;
  const std::shared_ptr<const void> owner;  // of the plan, if it may be forgotten
  bool gives_one_tensor;
  bool is_view;  // one action makes the result, a view of an input
  std::vector<uint64_t> words;
  PreparedActions actions;
};

// Runs the frame's steps as Frame::run does, and writes them down. Nothing when they cannot be repeated.
std::optional<PreparedActions> run_and_write_down(Frame& frame);
// The same for a call repeated with the same facts.
std::unique_ptr<PreparedCall> run_and_prepare(Frame& frame, std::shared_ptr<const void> owner, const CallFacts& facts);

}  // namespace pellucid
