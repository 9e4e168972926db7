// The instructions of register programs.
//
// Generated from src/pellucid_compiler/ir/opcodes.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <cstdint>
#include <string_view>
#include "abi/codes.h"

namespace pellucid {
enum class Opcode : uint8_t {
  Constant,  // const: value: the literal
  Size,  // size: a: input, b: dim
  Integer,  // integer: a: argument, b: element of a list or -1
  Number,  // number: a: argument, b: element of a list or -1
  Imaginary,  // imaginary: a: argument, b: element of a list or -1
  Guard,  // guard: a, value: what the plan is for
  Require,  // require: a, b: message, value: if not on Meta
  Select,  // select: a ? b : c
  ToNumber,  // to_number: a
  ToInteger,  // to_integer: a
  ToSingle,  // to_single: a, rounded to float32
  NotZero,  // not_zero: a
  NumberNotZero,  // not_zero.number: a
  Add,  // add: a b
  NumberAdd,  // add.number: a b
  Sub,  // sub: a b
  NumberSub,  // sub.number: a b
  Mul,  // mul: a b
  NumberMul,  // mul.number: a b
  NumberDiv,  // div.number: a b
  Floordiv,  // floordiv: a b
  NumberFloordiv,  // floordiv.number: a b
  Mod,  // mod: a b
  NumberMod,  // mod.number: a b
  NumberPow,  // pow.number: a b
  Maximum,  // maximum: a b
  NumberMaximum,  // maximum.number: a b
  Minimum,  // minimum: a b
  NumberMinimum,  // minimum.number: a b
  Neg,  // neg: a
  NumberNeg,  // neg.number: a
  Abs,  // abs: a
  NumberAbs,  // abs.number: a
  Sign,  // sign: a
  NumberSign,  // sign.number: a
  NumberFloor,  // floor.number: a
  NumberCeil,  // ceil.number: a
  NumberTrunc,  // trunc.number: a
  NumberRound,  // round.number: a
  NumberSqrt,  // sqrt.number: a
  NumberExp,  // exp.number: a
  NumberLog,  // log.number: a
  Lt,  // lt: a b
  NumberLt,  // lt.number: a b
  Le,  // le: a b
  NumberLe,  // le.number: a b
  Eq,  // eq: a b
  NumberEq,  // eq.number: a b
  Ne,  // ne: a b
  NumberNe,  // ne.number: a b
  And,  // and: a b
  Or,  // or: a b
  Not,  // not: a
  NumberIsnan,  // isnan.number: a
  NumberIsinf,  // isinf.number: a
  Bitand,  // bitand: a b
  Bitor,  // bitor: a b
  Bitxor,  // bitxor: a b
  Shl,  // shl: a b
  Shr,  // shr: a b
};
template <>
inline constexpr int kNumCodes<Opcode> = 60;
// After the magic number of frozen.bin: other codes are refused.
constexpr std::string_view kOpcodeDigest = "52624097";
// Whether the result is a double; Select has its operands' type.
inline constexpr bool kGivesNumber[] = {false, false, false, true, true, false, false, false, true, false, true, false, false, false, true, false, true, false, true, true, false, true, false, true, true, false, true, false, true, false, true, false, true, false, true, true, true, true, true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false};
// How many of a, b and c are registers.
inline constexpr uint8_t kNumRegisters[] = {0, 0, 0, 0, 0, 1, 1, 3, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2};
}  // namespace pellucid
