// Segment: ops that were recorded and did not run yet, with what they read and what they will fill.
//
// Only ops that cannot fail are recorded, those of single elements and anchors (anchors.h): whether and when one runs
// cannot be observed once its inputs are held unchanged. A write in place is a value of its own, the next of its
// storage. An operand is an input (memory that exists) or a value of the segment.
#pragma once

#include <bitset>
#include <deque>
#include <vector>

#include "core/tensor.h"
#include "kernels/element_function.h"

namespace pellucid::record {

class Recorder;
struct AnchorForm;

constexpr size_t kMaxNodes = 256;   // of a segment, which runs when it has as many
constexpr size_t kMaxValues = 512;  // never reallocated: storages point at values

// The loops an op runs over.
struct Space {
  int ndim = 0;
  int64_t numel = 0;
  int64_t sizes[kInlineDims] = {};

  std::span<const int64_t> shape() const { return {sizes, static_cast<size_t>(ndim)}; }
};

struct Input {
  Ref<Storage> storage;
  int64_t offset;  // in elements
  DType dtype;
  int ndim;
  int64_t sizes[kInlineDims], strides[kInlineDims];
};

struct Value {
  Recorder* recorder;
  uint16_t number, node;
  uint8_t space;
  DType dtype;
  int16_t taken = -1;  // of memory that is written in place: the input that has it until then
  int64_t strides[kInlineDims];
  Tensor tensor;         // as it was made; it may be given other memory since. Null once it is overwritten
  Ref<Storage> storage;  // of what is overwritten: null until an op fills it
  size_t nbytes = 0;

  // Whether anybody else still has it.
  bool is_live() const {
    if (!tensor) return false;
    const int held = tensor->storage == storage.get() ? 2 : 1;
    return !tensor->unique() || storage->refs.load(std::memory_order_acquire) > held;
  }
};

// The value's, which is made where it has none.
inline Storage& storage_to_fill(Value& value) {
  if (!value.storage) value.storage = make_unfilled_storage(value.nbytes);
  return *value.storage;
}

struct Operand {
  bool is_value;
  uint16_t number;
  bool operator==(const Operand&) const = default;
};

// An op of single elements has a function, an anchor a form. `space`: of the loops; of an anchor its first result's.
// `first_param`: of an anchor, the first of its arguments. `is_alone`: an anchor that no others join.
struct Node {
  const OpRecord* op;
  const ElementFunction* function;
  const AnchorForm* anchor;
  uint16_t first_operand, first_param, first_value;
  uint8_t space, num_operands, num_values;
  bool is_alone;
  bool operator==(const Node&) const = default;
};

struct Segment {
  std::vector<Node> nodes;
  std::vector<Operand> operands;  // of each node, in the order of its function's inputs
  std::vector<uint64_t> params;
  std::vector<pellucid::Value> arguments;  // of anchors, without their tensors
  std::deque<std::vector<int64_t>> lists;  // that these name
  std::vector<Value> values;
  std::vector<Input> inputs;
  std::vector<Space> spaces;
  std::bitset<kMaxNodes> done;  // nodes that ran; all but those of a pass that was interrupted are reset
  uint64_t generation = 0;      // counts resets

  Segment() { values.reserve(kMaxValues); }
  bool empty() const { return nodes.empty(); }
  void reset() {
    nodes.clear();
    operands.clear();
    params.clear();
    arguments.clear();
    lists.clear();
    values.clear();
    inputs.clear();
    spaces.clear();
    done.reset();
    ++generation;
  }
  std::span<const Operand> operands_of(const Node& node) const {
    return {operands.data() + node.first_operand, node.num_operands};
  }
  DType dtype_of(const Operand& operand) const {
    return operand.is_value ? values[operand.number].dtype : inputs[operand.number].dtype;
  }
  // The dtype in which the node's op reads operand `k`.
  DType dtype_read(const Node& node, size_t k) const {
    return node.function ? node.function->inputs[k].dtype : dtype_of(operands_of(node)[k]);
  }
  // The operand as a tensor of its memory.
  Tensor tensor_of(const Operand& operand) const;
};

}  // namespace pellucid::record
