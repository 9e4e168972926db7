// Plan: the program for one specialisation key of an op (written by src/pellucid_compiler/lower/plan.py).
//
// It consists of a register program over sizes and numbers, then straight-line steps over tensor values. Values
// are numbered, inputs first. A plan is immutable once decoded, apart from kernels, which are resolved at first
// use; any number of threads may run it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "kernels/kernel_ref.h"
#include "plan/register_program.h"

namespace pellucid {

// The index along one dim of a value: offset + sum(coefficient * axis).
struct DimTerm {
  uint8_t axis;
  uint16_t coefficient;  // kNoRegister: 1
};
struct DimMap {
  uint16_t offset = kNoRegister;
  std::vector<DimTerm> terms;
};

// A value as a nest sees it. `direct`: dim d follows axis `axis_of_dim[d]` (-1: its index is 0) without offsets
// or coefficients, which is the common case.
struct Operand {
  uint16_t value;
  bool direct;
  std::vector<int8_t> axis_of_dim;
  std::vector<DimMap> dims;
  bool padded = false;  // Gemm: zero-padded
};

struct KernelUse {
  KernelRef kernel;
  std::vector<uint16_t> params;
  std::string label;
  std::vector<Message> messages;  // for its checks of elements: status detail n is message n
};

// The initial contents of a filled value or an accumulated output.
struct Constant {
  Register value{0};
  bool is_number = false;
  std::optional<Complex> complex;  // if present, the value
};

using OptionValue = std::pair<std::string, Constant>;

struct Plan;

// The step of a recurrence, and the registers it takes from the enclosing plan.
struct RecurrenceBody {
  std::unique_ptr<Plan> plan;
  std::vector<std::pair<uint16_t, uint16_t>> bound;  // register of the body, register of the enclosing plan
  bool reverse = false;
  size_t num_carries = 0;    // the first inputs of the step
  size_t num_constants = 0;  // the last inputs of its plan, which every element reads whole
  // Per sequence 0, -1 or 1: an element reads the sequence at that distance from its own position, and beyond the
  // sequence's end the next of the edges, which are the step's inputs after those of its plan.
  std::vector<int64_t> shifts;
  // Per constant: its dims, outermost in memory first, in the order that suits the step's reads; or empty.
  std::vector<std::vector<uint16_t>> orders;
  std::vector<bool> stacked;  // per output; of the others, which are carries, only the last value is returned
  // Per input and then per output of the step: the dim of its lanes, each of which is computed from itself alone;
  // -1: none. Empty if the step mixes them.
  std::vector<int> lanes;
  ~RecurrenceBody();
};

struct Step;

// A value of which only one block exists at a time; values in one slot share memory.
struct LocalValue {
  uint16_t value;
  uint16_t slot;
};

// Steps that run together on one block of their shared axes, then on the next (plan/block_driver.h).
struct BlockBody {
  std::vector<Step> steps;
  std::vector<std::vector<uint8_t>> classes;  // per step, of each of its axes
  // Classes in order: parallel, sequential, the one that is split into pieces, all others.
  int parallel = 0, sequential = 0;
  bool cut_is_sequential = false;
  std::vector<LocalValue> locals;
  int triangle = -1;  // the class that ends at a piece's last row; -1: none
  // The steps as one kernel over the classes, for devices; null if an operand does not follow them.
  std::unique_ptr<Step> whole;

  int cut() const { return parallel + sequential; }
  bool is_local(uint16_t value) const;
  ~BlockBody();
};

struct Step {
  StepKind kind;
  uint8_t num_stored = 0;              // Map, Reduce and Rows: number of leading axes that are stored
  bool parallel = false;               // Nest
  bool has_identity = false;           // Nest
  bool channels_innermost = false;     // Nest: it also serves channels-last outputs
  bool begins = false;                 // Nest: its machine code needs no identity in the outputs
  uint16_t count = kNoRegister;        // Nonzero, Recurrence; Compute: the end of the program part
  bool indexed = false;                // Reduce: argmax or argmin
  std::vector<uint8_t> sums;           // Rows: outputs that every row accumulates into, per group of rows
  std::array<uint8_t, 4> groups{};     // Gemm: number of axes that are batch, rows, columns, depth
  DType accumulator = DType::Float32;  // Reduce
  std::unique_ptr<KernelUse> kernel;
  std::unique_ptr<KernelUse> combine;  // Reduce: combines partial results
  std::vector<uint16_t> extents;
  std::vector<Operand> outputs, inputs;
  Constant constant;                 // Fill, and Nest with an identity
  std::string name;                  // Library
  std::vector<OptionValue> options;  // Library
  std::vector<std::string> texts;    // Library: the string options, in order
  std::vector<uint16_t> numbers;     // Library: options that are numbers of the call
  std::vector<std::string> number_names;
  std::unique_ptr<RecurrenceBody> recurrence;
  std::unique_ptr<BlockBody> block;  // `extents` are those of its classes; outputs and inputs are whole values
  std::vector<uint16_t> releases;    // values whose last use is this step
  std::vector<uint16_t> last_reads;  // inputs of the plan that no later step reads; none in the steps of a block
};

struct PlanValue {
  DType dtype;
  std::vector<uint16_t> sizes;
};

// The elements of an input are indices along `dim`, whose size is that of dim `size_dim` of another input; -1: of all
// its elements in row-major order. `wraps`: negative ones count from the end.
struct IndexedDim {
  uint16_t index, size_of;
  uint8_t dim;
  int8_t size_dim;
  bool wraps;
};

struct Plan {
  std::string name;
  uint16_t num_inputs = 0;
  RegisterProgram program;
  size_t start = 0;  // instructions that run before the first step
  std::vector<PlanValue> values;
  std::vector<Step> steps;
  std::vector<uint16_t> outputs;
  ErrorKind index_error = ErrorKind::Index;  // raised for an index out of bounds
  std::string index_message;                 // with {} for the index; empty: it says which of these it is
  std::vector<IndexedDim> indexed;
};

std::unique_ptr<Plan> decode_plan(std::span<const uint8_t> data);

}  // namespace pellucid
