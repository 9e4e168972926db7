"""The instructions of register programs: what plans compute of sizes and numbers.

Registers hold 64 bits: an integer (bools are 0 and 1) or a number (a double). ``takes``
and ``gives`` say which. An instruction of a scalar op has its name; the form on numbers
ends in ".number"; what it computes is in the op's row (``ir/scalar_ops.py``), in C++
too. ``lower/registers.py`` writes programs, runtime/plan/register_program.cpp runs
them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

INTEGER, NUMBER, NOTHING, SAME = "integer", "number", "nothing", "the second operand's"


class Opcode(NamedTuple):
    """``operands``: what a, b and c are; the first ``registers`` of them are registers
    that earlier instructions set.
    """

    name: str
    symbol: str
    takes: str
    gives: str
    registers: int = 2
    operands: str = "a b"

    @property
    def scalar_op(self) -> str:
        return self.name.removesuffix(".number")


def _integers(names: str, count: int = 2) -> list[Opcode]:
    pairs = [text.split("=") for text in names.split()]
    shown = "a b"[: 2 * count - 1]
    return [Opcode(op, symbol, INTEGER, INTEGER, count, shown) for op, symbol in pairs]


def _numbers(names: str, gives: str, count: int = 2) -> list[Opcode]:
    pairs = [text.split("=") for text in names.split()]
    shown = "a b"[: 2 * count - 1]
    return [
        Opcode(f"{op}.number", f"N{symbol}", NUMBER, gives, count, shown)
        for op, symbol in pairs
    ]


_OF_CALL: Final = "a: argument, b: element of a list or -1"
OPCODES: Final = (
    Opcode("const", "Constant", NOTHING, SAME, 0, "value: the literal"),
    Opcode("size", "Size", NOTHING, INTEGER, 0, "a: input, b: dim"),
    Opcode("integer", "Integer", NOTHING, INTEGER, 0, _OF_CALL),
    Opcode("number", "Number", NOTHING, NUMBER, 0, _OF_CALL),
    Opcode("imaginary", "Imaginary", NOTHING, NUMBER, 0, _OF_CALL),
    Opcode("guard", "Guard", INTEGER, NOTHING, 1, "a, value: what the plan is for"),
    Opcode("require", "Require", INTEGER, NOTHING, 1, "a, b: number of the message"),
    *_integers("add=Add sub=Sub mul=Mul floordiv=FloorDiv mod=Mod"),
    *_integers("minimum=Min maximum=Max"),
    *_integers("neg=Neg abs=Abs sign=Sign", 1),
    *_integers("lt=Lt le=Le eq=Eq ne=Ne and=And or=Or"),
    *_integers("not=Not", 1),
    Opcode("select", "Select", INTEGER, SAME, 3, "a ? b : c"),
    *_integers("bitand=BitAnd bitor=BitOr bitxor=BitXor shl=Shl shr=Shr"),
    *_numbers("add=Add sub=Sub mul=Mul div=Div floordiv=FloorDiv mod=Mod", NUMBER),
    *_numbers("minimum=Min maximum=Max", NUMBER),
    *_numbers("neg=Neg abs=Abs sign=Sign", NUMBER, 1),
    *_numbers("pow=Pow", NUMBER),
    *_numbers("lt=Lt le=Le eq=Eq ne=Ne", INTEGER),
    *_numbers("floor=Floor ceil=Ceil trunc=Trunc round=Round", NUMBER, 1),
    *_numbers("sqrt=Sqrt exp=Exp log=Log", NUMBER, 1),
    *_numbers("isnan=IsNan isinf=IsInf", INTEGER, 1),
    Opcode("to_number", "ToNumber", INTEGER, NUMBER, 1, "a"),
    Opcode("to_integer", "ToInteger", NUMBER, INTEGER, 1, "a"),
    Opcode("to_single", "ToSingle", NUMBER, NUMBER, 1, "a, rounded to float32"),
    Opcode("not_zero", "NotZero", INTEGER, INTEGER, 1, "a"),
    Opcode("not_zero.number", "NumberNotZero", NUMBER, INTEGER, 1, "a"),
)
CODES: Final = {row.name: code for code, row in enumerate(OPCODES)}
