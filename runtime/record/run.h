// Runs a segment: which of its values are needed, in which groups, by which kernels.
#pragma once

#include <memory>
#include <vector>

#include "record/clock.h"
#include "record/groups.h"

namespace pellucid::record {

// Counts since a thread began.
struct Counts {
  int64_t recorded = 0;  // ops
  int64_t grouped = 0;   // recorded ops in groups of several
  int64_t launches = 0;  // passes over memory for recorded ops
  int64_t fused = 0;     // launches of one kernel for a group
  int64_t spared = 0;    // elements of the passes that groups save, or will save
};

// How to run a segment with certain ops and live values. Independent of sizes.
struct SegmentPlan {
  std::vector<Node> nodes;
  std::vector<Operand> operands;
  std::vector<uint8_t> live;  // per value
  std::vector<NumberClass> numbers;
  std::vector<int> position;           // per node: when it runs, group after group
  std::vector<int> last_reader;        // per value: the position of the last node that reads it, or -1
  std::vector<int> last_input_reader;  // the same per input
  std::vector<Group> groups;           // in the order in which they run
  std::vector<GroupEntry*> entries;    // per group: null where its ops always run one by one

  // Whether a group with an anchor was refused after planning: its ops can be grouped without the anchor.
  bool is_outdated() const;
};

// A cache of a thread's most recent plans.
class SegmentPlans {
 public:
  // Looked up, or created; valid until the next call.
  const SegmentPlan& plan_of(const Segment& segment);

 private:
  static constexpr size_t kPlaces = 64;
  std::unique_ptr<SegmentPlan> places_[kPlaces];
  std::vector<uint8_t> live_;
};

// Computes every live value. `wanted` receives the groups whose kernels should be requested. False if a signal handler
// that read one of the values ran the segment meanwhile.
bool run_segment(Segment& segment, const SegmentPlan& plan, Counts& counts, std::vector<GroupEntry*>& wanted);

// Runs all ops of a segment one by one. Returns the nanoseconds that each took.
std::vector<int64_t> run_and_time(Segment& segment, const SegmentPlan& plan, clockid_t clock);

}  // namespace pellucid::record
