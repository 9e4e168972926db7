// Tile programs: how a kernel without machine code runs (written by lower/tile.py).
//
// A scalar program is straight-line code: slots in order, each an operand, a number, or one scalar op whose
// kernel the pack has. tile_interpreter.cpp runs it over tiles, with the kernel's own signature.
#pragma once

#include <atomic>
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
  int32_t number = 0;              // Input, Parameter, Row, Axis, Check; the operand of Gather
  int32_t mask = -1, fill = -1;    // Gather, and the mask of Check: slots, or -1
  std::vector<int32_t> arguments;  // slots: Op and Bitcast; the indices of Gather; the value and condition of Check
  alignas(16) char constant[16] = {};
  mutable KernelRef kernel;  // Op
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
  mutable KernelRef first, again;  // Reduce: values -> accumulator, partials -> accumulator
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
  mutable KernelRef whole;  // Reduce and Scan: the combination of computed values
  std::deque<RowPass> passes;
  int32_t rank = 0;  // Nest
  std::vector<int32_t> operand_ranks;
  Combine combine = Combine::Assign;
  std::vector<NestStore> stores;
  std::vector<DType> outputs, inputs, params;
};

// Programs by kernel id, decoded when a kernel is first found missing. There is a table for the frozen file, and
// one for each answer to a trace request, which lives as long as the kernels that were decoded with it.
class ProgramTable;
std::shared_ptr<ProgramTable> make_program_table(std::string_view encoded);
void install_programs(Compressed frozen);  // makes the frozen file's table

// Where the kernels that this thread decodes look for their programs before the frozen file's table.
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

// What KernelRef::program points to: the kernel's id, the encoded program, and the decoded one after first use.
class AttachedProgram {
 public:
  AttachedProgram(const KernelId& id, std::shared_ptr<ProgramTable> table) : id_(id), table_(std::move(table)) {}
  const TileProgram& get();

 private:
  const KernelId id_;
  const std::shared_ptr<ProgramTable> table_;
  std::atomic<const TileProgram*> program_{nullptr};
};

// Lets `kernel`, whose id is set, run the program of that id if there is no machine code.
void attach_program(KernelRef& kernel);

void decode_tile_program(Decoder in, TileProgram& out);

// Makes KernelRef::interpret run tile programs; called once, at import.
void install_tile_interpreter();

}  // namespace pellucid
