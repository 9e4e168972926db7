// Groups: recorded ops that run as one kernel, and the table of known groups.
//
// The ops of a group share one iteration space, or one of them is an anchor (anchors.h) over whose rows the others run.
// A group with an anchor becomes an op (anchored.h). A group's key consists of its ops, their operands, its outputs,
// and which of its numbers are 1 or equal; it has no sizes and no other numbers. When a group occurs for the second
// time, its kernel is requested from Python (specialise/groups.py), which compiles it on another thread. Until it
// arrives, and if it cannot be compiled or its results differ from those of the ops, the ops run one by one.
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

// The class of a number: kOne for 1.0, else the index of the first number that it equals.
using NumberClass = uint16_t;
// The class of each number of the segment's elementwise ops, and whether those classes still hold.
std::vector<NumberClass> classes_of(const Segment& segment);
bool are_classes_of(std::span<const NumberClass> classes, const Segment& segment);

// Ops of a segment that run together. Its operands are inputs of the group or earlier values of it.
struct Group {
  uint8_t space;
  int anchor = -1;                // a node of the segment, or -1
  std::vector<uint16_t> nodes;    // of the segment
  std::vector<uint16_t> outputs;  // values of the segment, in order
  struct In {
    Operand operand;
    DType dtype;  // in which the kernel reads it
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

// The first occurrence of a group, as a segment without memory.
struct Example {
  Segment segment;
  Group group;
};

struct GroupEntry {
  int number = 0;
  std::vector<uint64_t> key;
  std::vector<const ElementFunction*> functions;
  std::vector<const OpRecord*> ops;
  std::vector<NumberClass> numbers;  // of all functions, in order
  std::unique_ptr<Example> example;  // of a group with an anchor
  std::string description;           // of the request to Python
  std::atomic<uint64_t> meetings{0};
  std::atomic<bool> asked{false};
  std::atomic<const GroupFunction*> function{nullptr};
  std::atomic<const char*> refusal{nullptr};  // why the group has no function
};

// Looked up, or created; entries are never freed. The functions' requests must be known (remember_request). `classes`:
// of the segment's numbers.
GroupEntry& find_group(const Segment& segment, const Group& group, std::span<const NumberClass> classes);
GroupEntry* group_numbered(int number);
std::vector<GroupEntry*> all_groups();

// Stores, once per function, the request from which Python rebuilds the function of a call.
void remember_request(const ElementFunction& function, const OpCall& call, PointwiseKey key);
bool is_known(const ElementFunction& function);

// Decodes Python's answer, compares the kernel with the ops on random data, and publishes it.
void publish_group(int number, std::string_view answer);
void refuse_group(int number, std::string_view reason);

// The refusal of a kernel whose results differ from those of the ops.
constexpr const char* kOtherBits = "its kernel's results differ from those of its ops";

// The second half is positive, where most functions are defined.
void fill_randomly(std::span<char> memory, DType dtype, std::mt19937& random);
// Whether the elements have the same bits or are both NaN: which NaN an op returns is the compiler's choice.
bool are_same(const void* a, const void* b, size_t nbytes, DType dtype);

// Requests a group's kernel from Python; installed by the bindings. Called with no lock held.
extern void (*request_group)(int number, const std::string& description);

}  // namespace pellucid::record
