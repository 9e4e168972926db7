// Anchors: ops in passes over whole tensors, such as sums, norms and softmax, that are recorded so that the ops of
// single elements before and behind them run in the same pass.
//
// A group has at most one. Like these ops an anchor cannot fail once it is recorded: what it asks of sizes and numbers
// was checked when its plan was found.
#pragma once

#include <string>
#include <vector>

#include "record/segment.h"

namespace pellucid::record {

// Of fewer elements, a launch costs less than recording it; where nothing that it reads is recorded, the ops behind
// it have to earn that.
constexpr int64_t kLeastAnchored = 131072, kLeastAnchoredAlone = 262144;
// Over fewer they run by themselves, and are recorded if they read recorded values, which need not be there before.
constexpr int64_t kLeastReading = 8192;

// What calls of one plan key have in common; lives forever.
struct AnchorForm {
  const OpRecord* op;
  std::vector<uint64_t> words;   // the key
  std::string request;           // how Python finds the op again
  std::vector<uint8_t> tensors;  // the arguments that are tensors
  size_t passes;                 // that it takes alone
  bool gives_list;
};

// Why the call cannot be recorded by what its op is and gets, all but its tensors; null if it can.
const char* unfit_as_anchor(const OpCall& call);
// Found or made. Null: too many forms are known.
const AnchorForm* anchor_form(const OpCall& call, size_t passes);
// The arguments other than tensors, kept in the segment; returns where they begin.
size_t keep_arguments(Segment& segment, const OpCall& call);

// Runs an op whose handler on the CPU gives new tensors; their memory becomes that of `values`, by number. Unless a
// signal handler ran the segment meanwhile.
void run_into_values(Segment& segment, const OpRecord& op, std::span<pellucid::Value> arguments,
                     std::span<const uint16_t> values);
void run_anchor(Segment& segment, const Node& node);

}  // namespace pellucid::record
