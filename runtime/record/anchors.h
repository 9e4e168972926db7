// Anchors: ops that pass over whole tensors, such as sums, norms and softmax. They are recorded so that the elementwise
// ops before and after them are fused into the same pass.
//
// A group has at most one anchor. Like elementwise ops, an anchor cannot fail once it is recorded: its requirements of
// sizes and numbers were checked when its plan was looked up.
#pragma once

#include <string>
#include <vector>

#include "record/segment.h"

namespace pellucid::record {

// Anchors over fewer elements are not recorded: launching one costs less. The second limit is for anchors that read no
// recorded value, where only fusion with later ops can gain.
constexpr int64_t kLeastAnchored = 131072, kLeastAnchoredAlone = 262144;
// Anchors over at least so many elements are recorded if they read recorded values, which then need no memory yet. They
// run outside of groups below the limits above.
constexpr int64_t kLeastReading = 8192;

// The facts that all calls with one plan key share. Never freed.
struct AnchorForm {
  const OpRecord* op;
  std::vector<uint64_t> words;   // the key
  std::string request;           // from which Python finds the op again
  std::vector<uint8_t> tensors;  // the arguments that are tensors
  size_t passes;                 // over memory, when it runs alone
  bool gives_list;
};

// Why the call's op or its arguments other than tensors prevent recording; null if they do not.
const char* unfit_as_anchor(const OpCall& call);
// Looked up, or created. Null: there are too many forms.
const AnchorForm* anchor_form(const OpCall& call, size_t passes);
// Copies the arguments other than tensors into the segment; returns the index of the first.
size_t keep_arguments(Segment& segment, const OpCall& call);

// Runs an op whose CPU handler returns new tensors. Their memory becomes that of `values`, by number, unless a signal
// handler ran the segment meanwhile.
void run_into_values(Segment& segment, const OpRecord& op, std::span<pellucid::Value> arguments,
                     std::span<const uint16_t> values);
void run_anchor(Segment& segment, const Node& node);

}  // namespace pellucid::record
