// The handler of all pointwise ops: promotion, broadcasting, layout, destination, kernel.
//
// It serves the functional, in-place and out= variants on the CPU and Meta backends. An op is described to it by
// its PointwiseData and, per specialisation key, an ElementFunction.
#pragma once

#include <atomic>
#include <vector>

#include "kernels/element_function.h"
#include "kernels/prepared_map.h"

namespace pellucid {

// The kind data of a functional pointwise record. In-place and out= records have none of their own: their
// `functional` record has it.
class PointwiseData : public KindData {
 public:
  // `promoted`: one bit per argument (tensor or number) that takes part in type promotion; the other tensors keep their
  // dtype. `int_to_float`: integers compute in the default dtype. `refuses_bools`: no promoted argument may be a bool.
  PointwiseData(const Schema& schema, uint32_t promoted, bool int_to_float, bool refuses_bools);
  ~PointwiseData() override;

  // Number: also a list of scalar tensors, which takes no part in promotion (an optimizer's step counts).
  // Ignored: generators, which never select a function.
  enum class Role : uint8_t { Operand, Number, Static, Ignored };

  uint8_t num_arguments;
  bool int_to_float, refuses_bools;
  bool has_statics = false;
  int8_t device_argument = -1;  // the argument that names the result's device; -1: none
  uint32_t promoted;
  PointwiseKey::Bits static_codes = 0;  // the key's bits for static arguments
  Role roles[kMaxPointwiseArguments];
  // The argument that output k is written to in place: the schema's "(a!)" arguments, else the k-th.
  uint8_t written[kMaxMapOutputs];
  // The same for one call: a function has no output for an argument that is not given.
  int result_argument(const Value* args, int output) const {
    int position = 0;
    for (int given = -1;; ++position)
      if (args[written[position]].is_tensor() && ++given == output) return written[position];
  }

  // Raises for a bool among the promoted arguments, as given.
  void refuse_bools(const OpCall& call) const;

  CallCache<PreparedMap> prepared;

  // Cached; on a miss the result of find_element_function, which lives as long as the op.
  const ElementFunction& function_for(const OpCall& call, PointwiseKey key);

 private:
  struct Entry {
    PointwiseKey key;
    const ElementFunction* function;
    std::vector<Value> statics;  // strings owned by `text`
    std::vector<std::string> text;
    const Entry* next;
  };
  bool statics_match(const OpCall& call, const Entry& entry) const;
  const ElementFunction& add_entry(const OpCall& call, PointwiseKey key);
  const ElementFunction* found(const OpCall& call, PointwiseKey key) const;
  void refuse_shapes(const OpCall& call, PointwiseKey key) const;

  std::atomic<const Entry*> entries_{nullptr};  // only ever grows: readers take no lock
};

// `context` is unused. Registered for Key::CPU and Key::Meta of every pointwise or random record.
void handle_pointwise(OpCall& call, void* context);
// The same for tensors of a device: ops/device_op.h.
void handle_pointwise_on_device(OpCall& call, void* context);

// The same for ops over lists of tensors (kernels/foreach.cpp): element i of every list is one pointwise call;
// all of them together run as blocks over the threads.
void handle_foreach(OpCall& call, void* context);

// The common dtype of a pointwise call, as in its key (for explain and tests).
DType common_dtype(const OpCall& call);

// Raises a kernel's status as the error that it represents, worded for the call.
[[noreturn]] void raise_status(const OpRecord& op, int64_t status,
                               std::span<const ElementFunction::Requirement> requirements);

}  // namespace pellucid
