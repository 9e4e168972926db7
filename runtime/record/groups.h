// Groups: recorded ops that run as one kernel, and the table of those that were met.
//
// The ops of a group have one space, or one of them is an anchor (anchors.h), over whose rows the others run; such a
// group runs as an op of its own (anchored.h). A group's key is its ops, what each reads, which values it gives, and
// which of its numbers are one or equal: no sizes, no other numbers. When a group is met the second time, its kernel is
// requested from Python (specialise/groups.py), which arrives from another thread. Until then, and when it cannot be
// made or gave other bits than its ops, the ops run one by one.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/kernel_ref.h"
#include "record/segment.h"

namespace pellucid::record {

constexpr size_t kMaxGroupInputs = 14, kMaxGroupOutputs = 8;

// Of a number: that it is 1.0, or the first number that it equals.
using NumberClass = uint16_t;  // or kOne
// The class of each number of the segment's ops of single elements, and whether they are still right.
std::vector<NumberClass> classes_of(const Segment& segment);
bool are_classes_of(std::span<const NumberClass> classes, const Segment& segment);

// Numbers of its own: an operand is an input of the group or an earlier value of it.
struct Group {
  uint8_t space;
  int anchor = -1;                // a node of the segment, or none
  std::vector<uint16_t> nodes;    // of the segment
  std::vector<uint16_t> outputs;  // values of the segment, in order
  struct In {
    Operand operand;
    DType dtype;  // that the kernel reads
    bool operator==(const In&) const = default;
  };
  std::vector<In> inputs;
};

// A kernel for a group, or the op of a group with an anchor.
struct GroupFunction {
  std::shared_ptr<const OpRecord> op;
  mutable KernelRef kernel;
  struct In {
    uint16_t number;
    DType dtype;
  };
  std::vector<In> inputs;
  std::vector<DType> outputs;
  std::vector<std::pair<uint16_t, uint16_t>> params;  // node of the group, parameter of its function
};

// The segment that a group is, where it was met first, without memory.
struct Example {
  Segment segment;
  Group group;
};

struct GroupEntry {
  int number = 0;
  std::vector<uint64_t> key;
  std::vector<const ElementFunction*> functions;
  std::vector<const OpRecord*> ops;
  std::vector<NumberClass> numbers;  // of the functions, one after the other
  std::unique_ptr<Example> example;  // of a group with an anchor
  std::string description;           // what is requested from Python
  std::atomic<uint64_t> meetings{0};
  std::atomic<bool> asked{false};
  std::atomic<const GroupFunction*> function{nullptr};
  std::atomic<const char*> refusal{nullptr};  // why there will be none
};

// Found or made; entries live forever. The functions' requests must be known (remember_request). `classes`: of the
// segment's numbers.
GroupEntry& find_group(const Segment& segment, const Group& group, std::span<const NumberClass> classes);
GroupEntry* group_numbered(int number);
std::vector<GroupEntry*> all_groups();

// How to make the function of a call again in Python; once per function.
void remember_request(const ElementFunction& function, const OpCall& call, PointwiseKey key);
bool is_known(const ElementFunction& function);

// Takes Python's answer: decodes it, compares it with the ops on random data, and publishes it.
void publish_group(int number, std::string_view answer);
void refuse_group(int number, std::string_view reason);

// Why a kernel is refused that does not what its ops do.
constexpr const char* kOtherBits = "its kernel gave other bits than its ops";

// The second half is positive: most functions are defined there.
void fill_randomly(std::span<char> memory, DType dtype, std::mt19937& random);
// Whether the elements have the same bits, or are NaN both: which of two NaN an op gives is the compiler's choice.
bool are_same(const void* a, const void* b, size_t nbytes, DType dtype);

// Asks Python for a group; installed by the bindings. Called with no lock held.
extern void (*request_group)(int number, const std::string& description);

}  // namespace pellucid::record
