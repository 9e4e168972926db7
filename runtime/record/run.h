// Runs a segment: which of its values are needed, in which groups, by which kernels.
#pragma once

#include <memory>
#include <vector>

#include "record/groups.h"

namespace pellucid::record {

// Counts since a thread began.
struct Counts {
  int64_t recorded = 0;  // ops
  int64_t grouped = 0;   // of them in groups of several
  int64_t launches = 0;  // passes over memory for recorded ops
  int64_t fused = 0;     // of them groups run by one kernel
  int64_t spared = 0;    // elements of passes that groups make, or will make, needless
};

// What a segment of some ops and live values comes to, whatever its sizes.
struct SegmentPlan {
  std::vector<Node> nodes;
  std::vector<Operand> operands;
  std::vector<uint8_t> live;  // per value
  std::vector<NumberClass> numbers;
  std::vector<int> position;           // per node: when it runs, group after group
  std::vector<int> last_reader;        // per value: the position of the last node that reads it, or -1
  std::vector<int> last_input_reader;  // likewise per input
  std::vector<Group> groups;           // in the order in which they run
  std::vector<GroupEntry*> made;       // per group: null where its ops always run one by one

  // Whether a group with an anchor was refused since: its ops can be grouped without it.
  bool is_outdated() const;
};

// The plans that a thread met last.
class SegmentPlans {
 public:
  // Found or made; stays until the next call.
  const SegmentPlan& plan_of(const Segment& segment);

 private:
  static constexpr size_t kPlaces = 64;
  std::unique_ptr<SegmentPlan> places_[kPlaces];
  std::vector<uint8_t> live_;
};

// Gives memory to every value that somebody else has. `wanted`: groups whose kernels are to be requested. False
// when the segment was run by somebody else meanwhile: a signal handler that read one of its values.
bool run_segment(Segment& segment, const SegmentPlan& plan, Counts& counts, std::vector<GroupEntry*>& wanted);

// Runs all ops of a segment one by one; how many nanoseconds each took.
std::vector<int64_t> run_and_time(Segment& segment, const SegmentPlan& plan);

}  // namespace pellucid::record
