// The register program of a plan: sizes and numbers of a call in, extents, output sizes, offsets,
// guards and requirements out. Straight-line code over 64-bit registers.
//
// Integer registers hold int64 (bool as 0 or 1), number registers hold double; the instruction
// says which. The instruction names are those of lower/plan.py; `decode_program` reads them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/op_record.h"
#include "plan/decode.h"

namespace pellucid {

union Register {
  int64_t integer;
  double number;
};

enum class Opcode : uint8_t {
  Size,
  Integer,
  Number,
  Imaginary,
  Guard,
  Require,
  Add,
  Sub,
  Mul,
  FloorDiv,
  Mod,
  Min,
  Max,
  Neg,
  Abs,
  Sign,
  Lt,
  Le,
  Eq,
  Ne,
  And,
  Or,
  Not,
  Select,
  BitAnd,
  BitOr,
  BitXor,
  Shl,
  Shr,
  NAdd,
  NSub,
  NMul,
  NDiv,
  NFloorDiv,
  NMod,
  NMin,
  NMax,
  NNeg,
  NAbs,
  NSign,
  NPow,
  NLt,
  NLe,
  NEq,
  NNe,
  NFloor,
  NCeil,
  NTrunc,
  NRound,
  NSqrt,
  NExp,
  NLog,
  NIsNan,
  NIsInf,
  ToNumber,
  ToInteger,
  ToSingle,
  NotZero,
  NumberNotZero,
};

struct Instruction {
  Opcode op;
  uint16_t result, a, b, c;  // for Guard: b = expected; Require: b = message
};

// A requirement's message: exception name, then text and registers to be joined.
struct MessagePart {
  std::string text;
  int32_t reg = -1;
  bool is_number = false;
};
struct Message {
  std::string error;
  std::vector<MessagePart> parts;
};

// The kind of the Python exception of this name, RuntimeError for others.
ErrorKind error_kind(std::string_view exception);

struct RegisterProgram {
  std::vector<Register> initial;          // constants in place; one entry per register
  std::vector<Instruction> instructions;  // everything but constants
  std::vector<uint16_t> position;         // of register number -> index of the first later instruction
  std::vector<uint8_t> is_number;         // per register: holds a double
  std::vector<Message> messages;
};

void decode_program(Decoder& in, RegisterProgram& program);
void decode_messages(Decoder& in, RegisterProgram& program);

// Runs instructions [begin, end). `inputs`: the flattened tensors of the call. Returns false when a
// guard fails (the plan is for another case); raises the requirement's error when one fails.
bool run_program(const RegisterProgram& program, size_t begin, size_t end, const OpCall& call,
                 TensorImpl* const* inputs, Register* registers);

}  // namespace pellucid
