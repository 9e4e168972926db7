"""The C++ side of the opcodes: their header and the cases of scalar ops.

``tools/build.py`` writes both; register_program.cpp includes the cases in the switch of
its interpreter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pellucid_compiler.abi.headers import header
from pellucid_compiler.abi.opcodes import NUMBER
from pellucid_compiler.ir.opcodes import OF_NUMBERS, OPCODE_DIGEST, OPCODES
from pellucid_compiler.ir.scalar_ops import SCALAR_OPS

_CASES: Final = """\
// Scalar ops on registers: cases of the switch in run_program.
//
// Generated from src/pellucid_compiler/ir/scalar_ops.py by tools/build.py.
"""


def register_code() -> dict[str, str]:
    """The generated files: their paths in ``runtime`` and their texts."""
    cases = "".join(f"{line}\n" for line in _cases())
    return {"abi/opcodes.h": _opcodes(), "plan/scalar_cases.inc": _CASES + cases}


def _opcodes() -> str:
    rows = OPCODES.values()
    gives = ", ".join("true" if row.gives == NUMBER else "false" for row in rows)
    taken = ", ".join(str(row.registers) for row in rows)
    body = [
        "enum class Opcode : uint8_t {",
        *(f"  {row.symbol},  // {row.name}: {row.operands}" for row in rows),
        "};",
        "template <>",
        f"inline constexpr int kNumCodes<Opcode> = {len(rows)};",
        "// After the magic number of frozen.bin: other codes are refused.",
        f'constexpr std::string_view kOpcodeDigest = "{OPCODE_DIGEST.decode()}";',
        "// Whether the result is a double; Select has its operands' type.",
        f"inline constexpr bool kGivesNumber[] = {{{gives}}};",
        "// How many of a, b and c are registers.",
        f"inline constexpr uint8_t kNumRegisters[] = {{{taken}}};",
    ]
    summary = "The instructions of register programs."
    included = '<cstdint> <string_view> "abi/codes.h"'
    return header(summary, "ir/opcodes.py", included, body)


def _cases() -> Iterator[str]:
    for op in SCALAR_OPS.values():
        if op.integers is not None:
            yield _case(op.name, op.integers, "integer")
        if op.numbers is not None:
            yield _case(op.name + OF_NUMBERS, op.numbers, "number")


def _case(name: str, code: str, field: str) -> str:
    row = OPCODES[name]
    value = re.sub(r"\b([ab])\b", rf"r[i.\1].{field}", code)
    out = "number" if row.gives == NUMBER else "integer"
    return f"case Opcode::{row.symbol}: out.{out} = {value}; break;"
