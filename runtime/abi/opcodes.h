// The instructions of register programs.
//
// Generated from src/pellucid_compiler/abi/opcodes.py by tools/build.py: change it there.
// clang-format off
#pragma once

#include <cstdint>
#include "abi/codes.h"

namespace pellucid {
enum class Opcode : uint8_t {
  Constant,  // const: value: the literal
  Size,  // size: a: input, b: dim
  Integer,  // integer: a: argument, b: element of a list or -1
  Number,  // number: a: argument, b: element of a list or -1
  Imaginary,  // imaginary: a: argument, b: element of a list or -1
  Guard,  // guard: a, value: what the plan is for
  Require,  // require: a, b: number of the message
  Add,  // add: a b
  Sub,  // sub: a b
  Mul,  // mul: a b
  FloorDiv,  // floordiv: a b
  Mod,  // mod: a b
  Min,  // minimum: a b
  Max,  // maximum: a b
  Neg,  // neg: a
  Abs,  // abs: a
  Sign,  // sign: a
  Lt,  // lt: a b
  Le,  // le: a b
  Eq,  // eq: a b
  Ne,  // ne: a b
  And,  // and: a b
  Or,  // or: a b
  Not,  // not: a
  Select,  // select: a ? b : c
  BitAnd,  // bitand: a b
  BitOr,  // bitor: a b
  BitXor,  // bitxor: a b
  Shl,  // shl: a b
  Shr,  // shr: a b
  NAdd,  // add.number: a b
  NSub,  // sub.number: a b
  NMul,  // mul.number: a b
  NDiv,  // div.number: a b
  NFloorDiv,  // floordiv.number: a b
  NMod,  // mod.number: a b
  NMin,  // minimum.number: a b
  NMax,  // maximum.number: a b
  NNeg,  // neg.number: a
  NAbs,  // abs.number: a
  NSign,  // sign.number: a
  NPow,  // pow.number: a b
  NLt,  // lt.number: a b
  NLe,  // le.number: a b
  NEq,  // eq.number: a b
  NNe,  // ne.number: a b
  NFloor,  // floor.number: a
  NCeil,  // ceil.number: a
  NTrunc,  // trunc.number: a
  NRound,  // round.number: a
  NSqrt,  // sqrt.number: a
  NExp,  // exp.number: a
  NLog,  // log.number: a
  NIsNan,  // isnan.number: a
  NIsInf,  // isinf.number: a
  ToNumber,  // to_number: a
  ToInteger,  // to_integer: a
  ToSingle,  // to_single: a, rounded to float32
  NotZero,  // not_zero: a
  NumberNotZero,  // not_zero.number: a
};
template <>
inline constexpr int kNumCodes<Opcode> = 60;
// Whether it gives a double; Select gives what its operands are.
inline constexpr bool kGivesNumber[] = {false, false, false, true, true, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, false, true, true, true, true, true, true, true, true, true, true, true, true, false, false, false, false, true, true, true, true, true, true, true, false, false, true, false, true, false, false};
// How many of a, b and c are registers.
inline constexpr uint8_t kNumRegisters[] = {0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 1, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
}  // namespace pellucid
