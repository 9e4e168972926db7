"""The C++ of scalar ops in register programs: the cases of the runtime's interpreter.

``tools/build.py`` writes them to runtime/plan/scalar_cases.inc, which
register_program.cpp includes in its switch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pellucid_compiler.abi.opcodes import CODES, NUMBER, OPCODES
from pellucid_compiler.ir.scalar_ops import SCALAR_OPS

PATH: Final = "plan/scalar_cases.inc"
_HEAD: Final = """\
// What scalar ops compute of registers: cases of the switch in run_program.
//
// Generated from src/pellucid_compiler/ir/scalar_ops.py by tools/build.py.
"""


def scalar_cases() -> str:
    """The text of ``PATH``; LookupError for a row without an instruction."""
    return _HEAD + "".join(f"{line}\n" for line in _cases())


def _cases() -> Iterator[str]:
    for op in SCALAR_OPS.values():
        if op.integers is not None:
            yield _case(op.name, op.integers, "integer")
        if op.numbers is not None:
            yield _case(f"{op.name}.number", op.numbers, "number")


def _case(name: str, code: str, field: str) -> str:
    if name not in CODES:
        raise LookupError(
            f"{name} has C++ and no instruction: name it in abi/opcodes.py"
        )
    row = OPCODES[CODES[name]]
    value = re.sub(r"\b([ab])\b", rf"r[i.\1].{field}", code)
    out = "number" if row.gives == NUMBER else "integer"
    return f"case Opcode::{row.symbol}: out.{out} = {value}; break;"
