"""The values of a plan's registers for a call, as computed by
runtime/plan/register_program.cpp: reports of plans take sizes from them.

Registers that a step sets while the plan runs (the number of true elements) are unknown
before the call: they are 0. Called by plan_cost.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pellucid_compiler.abi.opcodes import INTEGER
from pellucid_compiler.abi.plan import Instruction, Plan, Register
from pellucid_compiler.ir.expr import const, make
from pellucid_compiler.ir.opcodes import scalar_op
from pellucid_compiler.ir.sizes import size_value


def register_values(
    plan: Plan,
    shapes: Sequence[Sequence[int]],
    arguments: Sequence[Any],
    bound: Mapping[Register, Any] | None = None,
) -> list[Any]:
    """The value of every register for inputs of ``shapes`` and a call's ``arguments``;
    ``bound``: those set by an enclosing plan.
    """
    values: list[Any] = []
    for number, instruction in enumerate(plan.program):
        given = (bound or {}).get(number)
        known = given is not None
        value = given if known else _value(instruction, values, shapes, arguments)
        values.append(value)
    return values


def _value(
    i: Instruction,
    values: Sequence[Any],
    shapes: Sequence[Sequence[int]],
    arguments: Sequence[Any],
) -> Any:
    name = i.op.name
    if name in ("guard", "require"):
        return None
    if name == "const":
        return i.value
    if name == "size":
        return shapes[i.a][i.b]
    if name in ("integer", "number", "imaginary"):
        return _number(i, arguments)
    operands = [values[r] for r in (i.a, i.b, i.c)[: i.op.registers]]
    if name == "select":
        return operands[1] if operands[0] else operands[2]
    if name in _CONVERSIONS:
        return _CONVERSIONS[name](operands[0])
    cast, kind = (int, "int64") if i.op.takes == INTEGER else (float, "float64")
    leaves = [const(cast(operand), kind) for operand in operands]
    return size_value(make(scalar_op(name).name, *leaves), {})


def _number(i: Instruction, arguments: Sequence[Any]) -> Any:
    value = arguments[i.a]
    if isinstance(value, list) and i.b >= 0:
        value = value[i.b if len(value) > 1 else 0]
    if isinstance(value, complex):
        return value.imag if i.op.name == "imaginary" else value.real
    if i.op.name == "imaginary":
        return 0.0
    return int(value) if i.op.name == "integer" else float(value)


_CONVERSIONS: dict[str, Any] = {
    "to_number": float,
    "to_integer": int,
    "to_single": float,
    "not_zero": lambda value: int(value != 0),
    "not_zero.number": lambda value: int(value != 0),
}
