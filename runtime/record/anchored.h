// Groups with an anchor: they run as an op whose Graph has those of the ops in it.
//
// Python composes the Graph (specialise/anchored.py) and says the op's schema: the inputs, the numbers of ops of single
// elements as a list, and the anchor's arguments. Its plans are traced, cached and prepared as those of other ops.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "record/group_records.h"
#include "record/groups.h"

namespace pellucid::record {

// What an operand is in a group: an input below, a value of the group from kFirstValue on.
class Numbers {
 public:
  Numbers(const Segment& segment, const Group& group) : group_(group) {
    for (const uint16_t n : group.nodes) {
      const Node& node = segment.nodes[n];
      for (int k = 0; k < node.num_values; ++k) values_.push_back(static_cast<uint16_t>(node.first_value + k));
    }
  }
  uint64_t of_value(uint16_t value) const {
    return static_cast<uint64_t>(std::ranges::lower_bound(values_, value) - values_.begin());
  }
  uint64_t of(const Operand& operand, DType dtype) const {
    if (operand.is_value && std::ranges::binary_search(values_, operand.number))
      return kFirstValue + of_value(operand.number);
    return static_cast<uint64_t>(std::ranges::find(group_.inputs, Group::In{operand, dtype}) - group_.inputs.begin());
  }

 private:
  const Group& group_;
  std::vector<uint16_t> values_;
};

// A number of an op as a description says it.
inline encoded::MemberNumber described(const ElementFunction::Parameter& parameter, NumberClass equals) {
  return {parameter.argument, equals, parameter.dtype == DType::Int64, parameter.part};
}

template <class Record>
std::string encoded_record(const Record& value) {
  Encoder out;
  value.write(out);
  return out.data();
}

// The part of the segment that the group is, without memory.
std::unique_ptr<Example> excerpt(const Segment& segment, const Group& group);
// What of its inputs chooses kernels: for the group's key.
void add_classes(const Segment& segment, const Group& group, std::vector<uint64_t>& key);
// As specialise/anchored.py reads it; `request_of`: what made a function.
std::string describe_anchored(const Example& example,
                              const std::function<const std::string&(const ElementFunction*)>& request_of);
// Takes Python's answer, compares the op with those of the group on random data, and publishes it.
void publish_anchored(GroupEntry& entry, std::string_view answer);
void run_anchored(Segment& segment, const Group& group, const OpRecord& op);
// Whether the comparison of a group of these sizes is worth its memory.
bool is_comparable(const Segment& segment, const Group& group);

}  // namespace pellucid::record
