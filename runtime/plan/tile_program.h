// Tile programs: how a kernel runs that has no machine code here (lower/tile.py writes them).
//
// A scalar program is straight-line: slots in order, each an operand, a number or one scalar op, whose
// kernel the pack has. tile_interpreter.cpp runs it over tiles with the kernel's own signature.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "kernels/kernel_ref.h"
#include "plan/decode.h"

namespace pellucid {

struct TileSlot {
  using Kind = SlotKind;
  Kind kind;
  DType dtype;
  int32_t number = 0;              // of Input, Parameter, Row, Axis, Check; the operand of Gather
  int32_t mask = -1, fill = -1;    // of Gather, the mask of Check, too: slots, or -1
  std::vector<int32_t> arguments;  // slots: of Op and Bitcast; the indices of Gather; Check's value and condition
  alignas(16) char constant[16] = {};
  mutable KernelRef kernel;  // of Op
};

struct ScalarProgram {
  std::deque<TileSlot> slots;
  std::vector<int32_t> results;
};

struct RowPass {
  using Kind = RowPassKind;
  Kind kind;
  ScalarProgram program;
  int32_t output = -1;
  mutable KernelRef first, again;  // of Reduce: values -> accumulator, partials -> accumulator
  DType accumulator = DType::Float32;
};

struct NestStore {
  int32_t rank;
  bool drop;
};

struct TileProgram {
  using Form = TileForm;
  Form form;
  ScalarProgram program;    // all but Rows
  mutable KernelRef whole;  // of Reduce and Scan: the combination of computed values
  std::deque<RowPass> passes;
  int32_t rank = 0;  // of Nest
  std::vector<int32_t> operand_ranks;
  Combine combine = Combine::Assign;
  std::vector<NestStore> stores;
  std::vector<DType> outputs, inputs, params;
};

// Programs by kernel id, read when the first kernel is missing: those of the frozen file and, in a table of its own,
// those of each answer to a trace, which lives as long as the kernels that were decoded with it.
class ProgramTable;
std::shared_ptr<ProgramTable> make_program_table(std::string_view encoded);
void add_programs(std::span<const uint8_t> encoded);  // to those of the file; must live forever

// Where the kernels that this thread decodes find their programs before they look among those of the file.
class ProgramScope {
 public:
  explicit ProgramScope(std::shared_ptr<ProgramTable> table);
  ~ProgramScope();
  ProgramScope(const ProgramScope&) = delete;
  ProgramScope& operator=(const ProgramScope&) = delete;
  static std::shared_ptr<ProgramTable> current();

 private:
  std::shared_ptr<ProgramTable> table_;
  const ProgramScope* outer_;
};

// Lets `kernel`, whose id is set, run the program of that id where there is no machine code.
void attach_program(KernelRef& kernel);

void decode_tile_program(Decoder in, TileProgram& out);

// Makes KernelRef::interpret run tile programs; called once, at import.
void install_tile_interpreter();

}  // namespace pellucid
