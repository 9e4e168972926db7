"""``represent``: pointwise ops on operands stored without their background.

A sparse operand stores some elements; the others are its background, 0. Whether the
result has such a form follows from the op's body with 0 in place of operands: if it is
0 wherever operand k is 0, the result has no element where k has none. ``0 * x`` counts
as 0, as in PyTorch's sparse products, although x may be infinite.

Called by ``pellucid/sparse/_ops/pointwise.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pellucid_compiler.ir.evaluate import convert
from pellucid_compiler.ir.expr import LOADS, SCALAR_OPS, Expr
from pellucid_compiler.ir.traversal import walk

_ABSORBING = {"and": False, "or": True}


def is_background(body: Expr, absent: Collection[int]) -> bool:
    """Whether ``body`` is 0 where the operands ``absent`` are, whatever others are."""
    value = _Background(absent).value(body)
    return value is not None and bool(value == 0)


def is_linear(body: Expr, operand: int) -> bool:
    """Whether the body is that operand times a factor independent of it: then it may be
    applied to the terms of a sum.
    """
    if body.op in LOADS:
        return bool(body.attr == operand)
    if body.op in ("neg", "conj", "real", "cast", "with_partials"):
        return is_linear(body.args[0], operand)
    if body.op == "div":
        return is_linear(body.args[0], operand) and _is_free(body.args[1], operand)
    if body.op == "mul":
        pairs = (body.args, body.args[::-1])
        return any(is_linear(a, operand) and _is_free(b, operand) for a, b in pairs)
    return False


def _is_free(body: Expr, operand: int) -> bool:
    return not any(e.op in LOADS and e.attr == operand for e in walk(body))


class _Background:
    """The values implied by those operands: a NumPy scalar, or None."""

    def __init__(self, absent: Collection[int]) -> None:
        import numpy

        self.np: Any = numpy
        self.absent = absent
        self.known: dict[Expr, Any] = {}

    def value(self, e: Expr) -> Any:
        if e not in self.known:
            with self.np.errstate(all="ignore"):
                self.known[e] = self._compute(e)
        return self.known[e]

    def _compute(self, e: Expr) -> Any:
        if e.op == "const":
            return self.np.asarray(e.attr)
        if e.op in LOADS:
            return self.np.asarray(0.0) if e.attr in self.absent else None
        if e.op == "select":
            return self._select(*e.args)
        if e.op == "with_partials":
            return self.value(e.args[0])
        if e.op == "cast":
            inner = self.value(e.args[0])
            return None if inner is None else convert(self.np, inner, e.dtype)
        if e.op not in SCALAR_OPS:
            return None
        return self._apply(e.op, [self.value(a) for a in e.args])

    def _select(self, condition: Expr, first: Expr, second: Expr) -> Any:
        chosen = self.value(condition)
        if chosen is not None:
            return self.value(first if chosen else second)
        a, b = self.value(first), self.value(second)
        return a if a is not None and b is not None and a == b else None

    def _apply(self, op: str, args: list[Any]) -> Any:
        zeros = [a is not None and bool(a == 0) for a in args]
        if op == "mul" and any(zeros):
            return self.np.asarray(0.0)
        if op == "div" and zeros == [True, False]:
            return self.np.asarray(0.0)
        if op in _ABSORBING:
            for a in args:
                if a is not None and bool(a) is _ABSORBING[op]:
                    return a
        if any(a is None for a in args):
            return None
        return self.np.asarray(SCALAR_OPS[op].evaluate(self.np, *args))
