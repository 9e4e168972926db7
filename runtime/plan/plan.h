// Plan: what runs for one specialisation key of an op (src/pellucid_compiler/lower/plan.py writes it).
//
// A register program over sizes and numbers, then straight-line steps over tensor values. Values are
// numbered: the inputs first. A plan is immutable once decoded, apart from kernels that resolve on
// first use; any number of threads may run it.
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

// Index along one dim of a value: offset + sum(coefficient * axis).
struct DimTerm {
  uint8_t axis;
  uint16_t coefficient;  // kNoRegister: 1
};
struct DimMap {
  uint16_t offset = kNoRegister;
  std::vector<DimTerm> terms;
};

// A value as a nest sees it. `direct`: dim d follows axis `axis_of_dim[d]` (-1: it stays at 0),
// without offsets or coefficients, which is the common case.
struct Operand {
  uint16_t value;
  bool direct;
  std::vector<int8_t> axis_of_dim;
  std::vector<DimMap> dims;
  bool padded = false;  // of Gemm: it is zero-padded
};

struct KernelUse {
  KernelRef kernel;
  std::vector<uint16_t> params;
  std::string label;
  std::vector<Message> messages;  // of what it checks of elements: status detail n is message n
};

// What a filled value or an accumulated output starts as.
struct Constant {
  Register value{0};
  bool is_number = false;
  std::optional<Complex> complex;  // then it is this
};

using OptionValue = std::pair<std::string, Constant>;

struct Plan;

// The step of a recurrence, and the registers it takes from the plan around it.
struct RecurrenceBody {
  std::unique_ptr<Plan> plan;
  std::vector<std::pair<uint16_t, uint16_t>> bound;  // register of the body, register outside
  bool reverse = false;
  size_t num_carries = 0;    // the first inputs of the step
  size_t num_constants = 0;  // the last inputs of its plan, which every element reads whole
  // Per sequence 0, or -1 or 1: an element reads the one so far from its own and, where there is none, the next
  // of the edges, which are the step's inputs behind those of its plan.
  std::vector<int64_t> shifts;
  // Per constant: its dims from the outermost in memory to the innermost as the step reads it best; or empty.
  std::vector<std::vector<uint16_t>> orders;
  std::vector<bool> stacked;  // per output; of the others, carries, only the last is given
  // Per input and then per output of the step, the dim of its lanes, each computed from itself
  // alone; -1: it has none. Empty where the step mixes what would be lanes.
  std::vector<int> lanes;
  ~RecurrenceBody();
};

struct Step;

// A value of which one block exists; values of one slot share memory.
struct LocalValue {
  uint16_t value;
  uint16_t slot;
};

// Steps that run together on one block of their shared axes, then on the next (plan/block_driver.h).
struct BlockBody {
  std::vector<Step> steps;
  std::vector<std::vector<uint8_t>> classes;  // per step, of each of its axes
  // Classes in order: walked in parallel, walked in turn, the one that is cut into pieces, all others.
  int parallel = 0, sequential = 0;
  bool cut_is_sequential = false;
  std::vector<LocalValue> locals;
  int triangle = -1;  // the class that ends with a piece's last row, or -1

  int cut() const { return parallel + sequential; }
  bool is_local(uint16_t value) const;
  ~BlockBody();
};

struct Step {
  StepKind kind;
  uint8_t num_stored = 0;              // of Map, Reduce and Rows: leading axes that are stored
  bool parallel = false;               // of Nest
  bool has_identity = false;           // of Nest
  bool channels_innermost = false;     // of Nest: it also serves channels-last outputs
  bool begins = false;                 // of Nest: its machine code needs no identity in the outputs
  uint16_t count = kNoRegister;        // of Nonzero, Recurrence; of Compute: the end of the program part
  bool indexed = false;                // of Reduce: argmax or argmin
  std::vector<uint8_t> sums;           // of Rows: outputs that every row adds to, per group of rows
  std::array<uint8_t, 4> groups{};     // of Gemm: axes that are batch, rows, columns, depth
  DType accumulator = DType::Float32;  // of Reduce
  std::unique_ptr<KernelUse> kernel;
  std::unique_ptr<KernelUse> combine;  // of Reduce: partial results
  std::vector<uint16_t> extents;
  std::vector<Operand> outputs, inputs;
  Constant constant;                 // of Fill, and of Nest with an identity
  std::string name;                  // of Library
  std::vector<OptionValue> options;  // of Library
  std::vector<std::string> texts;    // of Library: the options that are strings, by option order
  std::vector<uint16_t> numbers;     // of Library: options that the call gives
  std::vector<std::string> number_names;
  std::unique_ptr<RecurrenceBody> recurrence;
  std::unique_ptr<BlockBody> block;  // `extents` are its classes'; outputs and inputs are whole values
  std::vector<uint16_t> releases;    // values that nothing reads after this step
};

struct PlanValue {
  DType dtype;
  std::vector<uint16_t> sizes;
};

struct Plan {
  std::string name;
  uint16_t num_inputs = 0;
  RegisterProgram program;
  size_t start = 0;  // instructions that run before the first step
  std::vector<PlanValue> values;
  std::vector<Step> steps;
  std::vector<uint16_t> outputs;
  ErrorKind index_error = ErrorKind::Index;  // what an index out of bounds raises
};

std::unique_ptr<Plan> decode_plan(std::span<const uint8_t> data);

}  // namespace pellucid
