"""Index Exprs as affine maps of a loop's axes, and as the operands of a plan's nests.

``affine_map(e)`` writes an index as ``offset + sum(coefficient * axis)`` with offset
and coefficients free of axes and loads; None if it is not of that form. The strides of
views and of nests are taken from such maps. Called by bodies.py and loops.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pellucid_compiler.abi.plan import (
    NO_REGISTER,
    DimMap,
    Operand,
)
from pellucid_compiler.ir.affine import linear_in
from pellucid_compiler.ir.expr import Expr, is_const, is_loaded
from pellucid_compiler.ir.traversal import axes_of, is_uniform
from pellucid_compiler.lower.registers import RegisterBuilder


class Affine(NamedTuple):
    """``offset + sum(coefficients[axis] * axis)``, without zero coefficients."""

    offset: Expr
    coefficients: tuple[tuple[int, Expr], ...]

    @property
    def single_axis(self) -> int | None:
        """The axis, when the index is exactly one axis."""
        if len(self.coefficients) != 1 or not is_const(self.offset, 0):
            return None
        axis, coefficient = self.coefficients[0]
        return axis if is_const(coefficient, 1) else None

    def renumbered(self, new_axis: Mapping[int, int]) -> Affine:
        terms = ((new_axis[axis], c) for axis, c in self.coefficients)
        return Affine(self.offset, tuple(sorted(terms, key=lambda term: term[0])))


def affine_map(e: Expr) -> Affine | None:
    if is_loaded(e):
        return None
    terms: list[tuple[int, Expr]] = []
    rest = e
    for axis in sorted(axes_of(e)):
        split = linear_in(rest, axis)
        if split is None or not is_uniform(split[0]):
            return None
        factor, rest = split
        if not is_const(factor, 0):
            terms.append((axis, factor))
    return Affine(rest, tuple(terms)) if is_uniform(rest) else None


def dim_map(map_: Affine, registers: RegisterBuilder) -> DimMap:
    def register(e: Expr, neutral: int) -> int:
        return NO_REGISTER if is_const(e, neutral) else registers.of(e)

    terms = tuple((axis, register(c, 1)) for axis, c in map_.coefficients)
    return DimMap(register(map_.offset, 0), terms)


def operand(value: int, maps: Sequence[Affine], registers: RegisterBuilder) -> Operand:
    return Operand(value, tuple(dim_map(m, registers) for m in maps))
