"""Conditions that keep a load in bounds of its operand.

Fusion produces ``select(0 <= i and i < n, f(x[i]), fill)`` for a padded load of
converted elements. Used by products.py and ranges.py, which treat it as the padded
load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pellucid_compiler.ir.affine import polynomial
from pellucid_compiler.ir.expr import Expr, is_const


def conjuncts(condition: Expr) -> Iterator[Expr]:
    """The parts of a conjunction."""
    if condition.op == "and":
        for part in condition.args:
            yield from conjuncts(part)
    else:
        yield condition


def is_bound(condition: Expr, index: Sequence[Expr], shape: Sequence[Expr]) -> bool:
    """Whether the condition holds wherever ``index`` is in bounds of ``shape``."""
    if condition.op not in ("le", "lt"):
        return False
    low, high = condition.args
    for place, size in zip(index, shape, strict=True):
        if condition.op == "le" and is_const(low, 0) and _same(high, place):
            return True
        if condition.op == "lt" and _same(low, place) and _same(high, size):
            return True
    return False


def _same(a: Expr, b: Expr) -> bool:
    return polynomial(a) == polynomial(b)
