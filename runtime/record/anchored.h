// Groups with an anchor: each runs as an op whose Graph is composed of the Graphs of the group's ops.
//
// Python composes the Graph (specialise/anchored.py) and returns the op's schema: the inputs, the numbers of the
// elementwise ops as a list, and the anchor's arguments. The op's plans are traced, cached and prepared like any
// other's.
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

// Numbers a group's operands: below kFirstValue the group's inputs, from there on its values.
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

// A number of an op, as encoded in a description.
inline encoded::MemberNumber described(const ElementFunction::Parameter& parameter, NumberClass equals) {
  return {parameter.argument, equals, parameter.dtype == DType::Int64, parameter.part};
}

template <class Record>
std::string encoded_record(const Record& value) {
  Encoder out;
  value.write(out);
  return out.data();
}

// The group's part of the segment, without memory.
std::unique_ptr<Example> excerpt(const Segment& segment, const Group& group);
// Adds to the group's key the facts of its inputs that select kernels.
void add_classes(const Segment& segment, const Group& group, std::vector<uint64_t>& key);
// The description that specialise/anchored.py decodes. `request_of` gives the request that made a function.
std::string describe_anchored(const Example& example,
                              const std::function<const std::string&(const ElementFunction*)>& request_of);
// Decodes Python's answer, compares the composed op with the group's ops on random data, and publishes it.
void publish_anchored(GroupEntry& entry, std::string_view answer);
void run_anchored(Segment& segment, const Group& group, const OpRecord& op);
// Whether the comparison of a group of these sizes is worth its memory.
bool is_comparable(const Segment& segment, const Group& group);

}  // namespace pellucid::record
