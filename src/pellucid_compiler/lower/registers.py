"""From size and number Exprs to the register program of a plan.

A ``RegisterBuilder`` assigns one register to every distinct Expr. Syms are leaves: they
are bound to sizes of inputs, to number arguments, or to registers that a step sets.
Called by all of ``lower``; runtime/plan/register_program.h runs the result.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass

from pellucid_compiler.abi.plan import (
    NO_REGISTER,
    Instruction,
    Message,
    Number,
    Register,
)
from pellucid_compiler.ir.complex_parts import IMAGINARY, ComplexParts, is_part
from pellucid_compiler.ir.dtypes import is_complex, is_float, is_real_float
from pellucid_compiler.ir.expr import SCALAR_OPS, Expr, const
from pellucid_compiler.ir.graph import Graph, Requirement
from pellucid_compiler.ir.opcodes import OF_NUMBERS, OPCODES
from pellucid_compiler.ir.traversal import walk


class LoweringError(Exception):
    """A Graph that the compiler cannot express; the message names what and where."""


@dataclass(frozen=True)
class SizeSource:
    """The size of flattened input ``position`` along ``dim``."""

    position: int
    dim: int


@dataclass(frozen=True)
class NumberSource:
    """Number argument ``argument`` of the schema; ``element`` of a list, else -1."""

    argument: int
    element: int = NO_REGISTER


Source = SizeSource | NumberSource


def size_sources(graph: Graph) -> dict[str, Source]:
    """The symbols that are sizes of the Graph's inputs.

    A tensor ``self`` names its sizes ``self.0``, ... even if its shape says that one of
    them equals another tensor's.
    """
    own: dict[str, Source] = {}
    shared: dict[str, Source] = {}
    for position, value in enumerate(graph.inputs):
        for dim, size in enumerate(value.shape):
            if value.name is not None:
                own.setdefault(f"{value.name}.{dim}", SizeSource(position, dim))
            if size.op == "sym":
                shared.setdefault(size.attr, SizeSource(position, dim))
    return {**shared, **own}  # a check that two sizes are equal reads both


class RegisterBuilder:
    """Builds the program; ``sources`` gives the source of each sym."""

    def __init__(self, sources: Mapping[str, Source], is_open: bool = False) -> None:
        """``is_open``: unknown symbols are left to the enclosing plan (``free``)."""
        self.sources = sources
        self.is_open = is_open
        self.free: dict[Expr, Register] = {}
        self.program: list[Instruction] = []
        self.messages: list[Message] = []
        self._registers: dict[Expr, Register] = {}

    def integer(self, value: int) -> Register:
        return self.of(const(value, "int64"))

    def of(self, e: Expr) -> Register:
        """The register that holds ``e``: int64 for integers and bools, else float64."""
        pending = [] if e in self._registers else [e]
        while pending:  # operands first; sizes may be nested deeper than Python calls
            operands = _computed_from(pending[-1])
            missing = next((a for a in operands if a not in self._registers), None)
            if missing is not None:
                pending.append(missing)
            else:
                done = pending.pop()
                self._registers[done] = self._emit(done)
        return self._registers[e]

    def deferred(self, e: Expr) -> Register:
        """A register for ``e`` that a step sets while the plan runs."""
        self._registers[e] = self._append("const", value=0)
        return self._registers[e]

    def require(
        self,
        condition: Expr,
        error: str,
        parts: tuple[str | Expr, ...],
        on_meta: bool = True,
    ) -> None:
        """Make the plan fail with this message unless ``condition`` holds; for Meta
        tensors, only if ``on_meta``.
        """
        resolved = tuple(p if isinstance(p, str) else self.of(p) for p in parts)
        self.messages.append(Message(error, resolved))
        number = len(self.messages) - 1
        exempt = None if on_meta else True
        self._append("require", self._truth(condition), number, value=exempt)

    def check(self, requirement: Requirement) -> None:
        """Like ``require``, with the values that the message names."""
        parts: list[str | Expr] = []
        given = iter(requirement.given)
        for text, field, _, _ in string.Formatter().parse(requirement.message):
            if text:
                parts.append(text)
            if field is not None:
                chosen = requirement.given[int(field)] if field else next(given)
                parts.append(chosen)
        error = requirement.error.__name__
        self.require(requirement.condition, error, tuple(parts), requirement.on_meta)

    def guard(self, condition: Expr, expected: bool) -> None:
        """Restrict the plan to calls in which ``condition`` is ``expected``."""
        self._append("guard", self._truth(condition), value=expected)

    def _truth(self, condition: Expr) -> Register:
        """The register of a condition, which may compare complex numbers."""
        if any(is_complex(e.dtype) for e in walk(condition)):
            condition = ComplexParts().expand(condition)
        return self.of(condition)

    def _append(
        self,
        name: str,
        a: Register = NO_REGISTER,
        b: Register = NO_REGISTER,
        c: Register = NO_REGISTER,
        value: Number | None = None,
    ) -> Register:
        self.program.append(Instruction(OPCODES[name], a, b, c, value))
        return len(self.program) - 1

    def _emit(self, e: Expr) -> Register:
        if is_complex(e.dtype):
            raise LoweringError(f"a size or number cannot be complex: {e}")
        if e.op == "const":
            value = float(e.attr) if is_float(e.dtype) else int(e.attr)
            return self._append("const", value=value)
        if e.op == "sym":
            return self._emit_sym(e)
        if e.op == "with_partials":
            return self.of(e.args[0])
        if _is_truth_of_complex(e):
            return self.of(ComplexParts().expand(e))
        if e.op == "cast":
            return self._emit_cast(e)
        registers = [self.of(a) for a in e.args]
        name = self._instruction_name(e)
        return self._append(name, *registers)

    def _emit_sym(self, e: Expr) -> Register:
        source = self.sources.get(e.attr)
        if source is None and is_part(e.attr):
            stem, _, part = e.attr.rpartition(".")
            return self._emit_part(self.sources.get(stem), part)
        if source is None and self.is_open:
            self.free[e] = self._append("const", value=_zero(e))
            return self.free[e]
        if source is None:
            raise LoweringError(f"the symbol {e.attr} has no source")
        if isinstance(source, SizeSource):
            return self._append("size", source.position, source.dim)
        kind = "number" if is_float(e.dtype) else "integer"
        return self._append(kind, source.argument, source.element)

    def _emit_part(self, source: Source | None, part: str) -> Register:
        """The real or imaginary part of a complex number of the call."""
        if not isinstance(source, NumberSource):
            raise LoweringError("a size has no real and imaginary part")
        kind = "imaginary" if part == IMAGINARY else "number"
        return self._append(kind, source.argument, source.element)

    def _emit_cast(self, e: Expr) -> Register:
        source = e.args[0]
        register = self.of(source)
        from_number = is_real_float(source.dtype)
        if e.dtype == "bool":
            name = "not_zero.number" if from_number else "not_zero"
            return self._append(name, register)
        if not is_float(e.dtype):
            if not from_number:
                return register
            return self._append("to_integer", register)
        if not from_number:
            register = self._append("to_number", register)
        if e.dtype == "float32":
            register = self._append("to_single", register)
        elif e.dtype not in ("float64", "weakfloat"):
            raise LoweringError(f"sizes and numbers are not rounded to {e.dtype}: {e}")
        return register

    def _instruction_name(self, e: Expr) -> str:
        if e.op == "select":
            return "select"
        operand = e.args[0].dtype
        if operand == "float32":
            raise LoweringError(f"numbers are computed in float64, not float32: {e}")
        if not is_complex(operand) and _has_instruction(e.op, operand):
            return e.op + OF_NUMBERS if is_float(operand) else e.op
        raise LoweringError(f"the register program has no {e.op} of {operand}: {e}")


def _zero(e: Expr) -> int | float:
    return 0.0 if is_float(e.dtype) else 0


def _computed_from(e: Expr) -> tuple[Expr, ...]:
    """The operands that the register of ``e`` is computed from."""
    if _is_truth_of_complex(e):
        return ()
    return e.args[:1] if e.op == "with_partials" else e.args


def _is_truth_of_complex(e: Expr) -> bool:
    """Whether ``e`` is the truth of a complex number of the call."""
    if e.op != "cast" or e.dtype != "bool":
        return False
    (number,) = e.args
    return number.op == "sym" and is_complex(number.dtype)


def fits_registers(e: Expr) -> bool:
    """Whether ``e``, free of axes and loads, may be computed once per call."""
    seen, left = {e}, [e]
    while left:
        node = left.pop()
        if not _fits(node):
            return False
        fresh = [a for a in _computed_from(node) if a not in seen]
        seen.update(fresh)
        left += fresh
    return True


_WIDE = ("bool", "int64", "weakint", "float64", "weakfloat")


def _fits(e: Expr) -> bool:
    """Whether the op of ``e`` is an instruction, or needs none."""
    if e.op in ("const", "sym"):
        return not is_complex(e.dtype)
    if e.op in ("with_partials", "select") or _is_truth_of_complex(e):
        return True
    if e.op == "cast":
        return e.dtype in _WIDE
    dtype = e.args[0].dtype if e.args else e.dtype
    return dtype in _WIDE and _has_instruction(e.op, dtype)


def _has_instruction(op: str, dtype: str) -> bool:
    """Whether register programs compute the scalar op ``op`` of this dtype."""
    row = SCALAR_OPS.get(op)
    code = row and (row.numbers if is_float(dtype) else row.integers)
    return bool(code)
