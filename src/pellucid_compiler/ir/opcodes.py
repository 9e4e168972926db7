"""The table of opcodes: the instructions of programs, then those of the scalar ops.

A row of ``scalar_ops.py`` with a C++ definition for integers or for numbers yields an
instruction for each, named, numbered and typed by the row. ``register_code.py`` writes
the C++ side.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from pellucid_compiler.abi.opcodes import INSTRUCTIONS, INTEGER, NUMBER, Opcode
from pellucid_compiler.ir.expr import ScalarOp
from pellucid_compiler.ir.scalar_ops import SCALAR_OPS

OF_NUMBERS: Final = ".number"


def _of_scalar_op(op: ScalarOp) -> Iterator[Opcode]:
    symbol, operands = op.name.capitalize(), "a b"[: 2 * op.arity - 1]
    if op.integers is not None:
        yield Opcode(op.name, symbol, INTEGER, INTEGER, op.arity, operands)
    if op.numbers is not None:
        gives = INTEGER if op.result in ("compare", "logic") else NUMBER
        name, symbol = op.name + OF_NUMBERS, f"Number{symbol}"
        yield Opcode(name, symbol, NUMBER, gives, op.arity, operands)


def _rows() -> Iterator[Opcode]:
    yield from INSTRUCTIONS
    for op in SCALAR_OPS.values():
        yield from _of_scalar_op(op)


OPCODES: Final = {row.name: row._replace(code=code) for code, row in enumerate(_rows())}
"""By name, in the order of codes."""
OPCODE_DIGEST: Final = hashlib.sha256(repr(OPCODES).encode()).hexdigest()[:8].encode()
"""Follows the magic number of ``frozen.bin``: programs with another numbering are
refused.
"""


def scalar_op(name: str) -> ScalarOp:
    """The scalar op that an instruction computes."""
    return SCALAR_OPS[name.removesuffix(OF_NUMBERS)]
