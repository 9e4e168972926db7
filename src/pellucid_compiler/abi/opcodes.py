"""The instructions of register programs: what plans compute from sizes and numbers.

Registers hold 64 bits: an integer (bools are 0 and 1) or a number (a double); ``takes``
and ``gives`` say which. The first instructions belong to programs as such and are
listed here. Those of scalar ops follow, under the ops' names, in the order of the rows
that have a definition in C++ (``ir/scalar_ops.py``); the form on numbers ends in
".number". The whole table is in ``ir/opcodes.py``. ``lower/registers.py`` writes
programs, runtime/plan/register_program.cpp runs them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

INTEGER, NUMBER, NOTHING, SAME = "integer", "number", "nothing", "the second operand's"


class Opcode(NamedTuple):
    """``operands``: the meaning of a, b and c; the first ``registers`` of them are
    registers that earlier instructions set. ``code``: the index in the table.
    """

    name: str
    symbol: str
    takes: str
    gives: str
    registers: int
    operands: str
    code: int = -1


_OF_CALL: Final = "a: argument, b: element of a list or -1"
INSTRUCTIONS: Final = (
    Opcode("const", "Constant", NOTHING, SAME, 0, "value: the literal"),
    Opcode("size", "Size", NOTHING, INTEGER, 0, "a: input, b: dim"),
    Opcode("integer", "Integer", NOTHING, INTEGER, 0, _OF_CALL),
    Opcode("number", "Number", NOTHING, NUMBER, 0, _OF_CALL),
    Opcode("imaginary", "Imaginary", NOTHING, NUMBER, 0, _OF_CALL),
    Opcode("guard", "Guard", INTEGER, NOTHING, 1, "a, value: what the plan is for"),
    Opcode(
        "require",
        "Require",
        INTEGER,
        NOTHING,
        1,
        "a, b: message, value: if not on Meta",
    ),
    Opcode("select", "Select", INTEGER, SAME, 3, "a ? b : c"),
    Opcode("to_number", "ToNumber", INTEGER, NUMBER, 1, "a"),
    Opcode("to_integer", "ToInteger", NUMBER, INTEGER, 1, "a"),
    Opcode("to_single", "ToSingle", NUMBER, NUMBER, 1, "a, rounded to float32"),
    Opcode("not_zero", "NotZero", INTEGER, INTEGER, 1, "a"),
    Opcode("not_zero.number", "NumberNotZero", NUMBER, INTEGER, 1, "a"),
)
