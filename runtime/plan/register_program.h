// The register program of a plan: it maps a call's sizes and numbers to extents, output sizes, offsets, guards
// and requirements. Straight-line code over 64-bit registers.
//
// Integer registers hold int64 (bool as 0 or 1), number registers hold double; the instruction says which. The
// instructions are listed in abi/opcodes.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/op_record.h"
#include "plan/records.h"

namespace pellucid {

union Register {
  int64_t integer;
  double number;
};

struct Instruction {
  Opcode op;
  uint16_t result, a, b, c;  // for Guard: b = expected; Require: b = message, c = not on Meta
};

// A requirement's message: the exception, then text and registers to be concatenated.
struct MessagePart {
  std::string text;
  int32_t reg = -1;
  bool is_number = false;
};
struct Message {
  ErrorKind error;
  std::vector<MessagePart> parts;
};

struct RegisterProgram {
  std::vector<Register> initial;          // one entry per register, with the constants filled in
  std::vector<Instruction> instructions;  // everything but constants
  std::vector<uint16_t> position;         // register number -> index of the first later instruction
  std::vector<uint8_t> is_number;         // per register: whether it holds a double
  std::vector<Message> messages;
};

// Built from the encoded records.
RegisterProgram make_program(const std::vector<encoded::Instruction>& instructions,
                             const std::vector<encoded::Message>& messages);
std::vector<Message> make_messages(const std::vector<encoded::Message>& encoded);

// Runs instructions [begin, end). `inputs`: the flattened tensors of the call. Returns false if a guard fails
// (the plan is for another case); raises the requirement's error if one fails.
bool run_program(const RegisterProgram& program, size_t begin, size_t end, const OpCall& call,
                 TensorImpl* const* inputs, Register* registers);

}  // namespace pellucid
