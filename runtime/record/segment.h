// Segment: the ops that are recorded and have not run, with their inputs and the values that they will compute.
//
// Only ops that cannot fail are recorded: elementwise ops and anchors (anchors.h). Whether and when such an op runs
// cannot be observed while its inputs are held unchanged. An in-place write makes a new value of the same storage. An
// operand is an input (memory that exists) or a value of the segment.
#pragma once

#include <bitset>
#include <deque>
#include <vector>

#include "core/tensor.h"
#include "kernels/element_function.h"

namespace pellucid::record {

class Recorder;
struct AnchorForm;

constexpr size_t kMaxNodes = 256;   // a segment with so many runs
constexpr size_t kMaxValues = 512;  // never reallocated: storages point to values

// The iteration space of an op.
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
  int16_t taken = -1;  // of an in-place write: the input that owns the memory until the write runs
  int64_t strides[kInlineDims];
  Tensor tensor;         // the result; set_() may have changed its memory since. Null once it is overwritten
  Ref<Storage> storage;  // of an overwritten value: null until an op fills it
  size_t nbytes = 0;

  // Whether it is referenced outside of the segment.
  bool is_live() const {
    if (!tensor) return false;
    const int held = tensor->storage == storage.get() ? 2 : 1;
    return !tensor->unique() || storage->refs.load(std::memory_order_acquire) > held;
  }
};

// The value's storage, created if it has none.
inline Storage& storage_to_fill(Value& value) {
  if (!value.storage) value.storage = make_unfilled_storage(value.nbytes);
  return *value.storage;
}

struct Operand {
  bool is_value;
  uint16_t number;
  bool operator==(const Operand&) const = default;
};

// An elementwise op has a function, an anchor a form. `space`: the iteration space; of an anchor, its first result's.
// `first_param`: of an anchor, its first argument. `is_alone`: an anchor that is not grouped with other ops.
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
  std::deque<std::vector<int64_t>> lists;  // to which `arguments` point
  std::vector<Value> values;
  std::vector<Input> inputs;
  std::vector<Space> spaces;
  std::bitset<kMaxNodes> done;  // nodes that have run; set only after a run was interrupted
  uint64_t generation = 0;      // the number of resets

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
  // A tensor with the operand's memory.
  Tensor tensor_of(const Operand& operand) const;
};

}  // namespace pellucid::record
