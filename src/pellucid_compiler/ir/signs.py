"""Changes of sign moved towards results, where they meet and an operation serves twice.

``normal(-d)`` beside ``normal(d)``, as in option prices, needs one error function: odd
functions, products, quotients and conversions of ``-x`` are those of ``x`` with the
other sign, bit for bit, and a sum becomes a difference. Only the sign of a NaN may
change, so expressions that can tell are left alone. Called for groups of ops
(``specialise/groups.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Final

from pellucid_compiler.ir.expr import SCALAR_OPS, Expr, cast, make, rebuild
from pellucid_compiler.ir.traversal import bottom_up, walk, without_partials

_SEES_SIGNS: Final = ("copysign", "bitcast")
# Others have no negative zero, or no negative numbers.
_SIGNED: Final = ("float16", "bfloat16", "float32", "float64")


def with_late_signs(values: Sequence[Expr]) -> list[Expr]:
    """Expressions of the same values, if they cost less; else ``values``."""
    bare = [without_partials(value) for value in values]
    if not any(e.op == "neg" for e in walk(*bare)):
        return list(values)
    if any(e.op in _SEES_SIGNS for e in walk(*bare)):
        return list(values)
    memo: dict[Expr, Expr] = {}
    found = [bottom_up(e, memo, attrgetter("args"), _Moved(memo)) for e in bare]
    return found if _cost(found) < _cost(bare) else list(values)


def _cost(values: Sequence[Expr]) -> int:
    return sum(SCALAR_OPS[e.op].cost for e in walk(*values) if e.op in SCALAR_OPS)


class _Moved:
    """An expression over operands that ``memo`` has, its change of sign outermost."""

    def __init__(self, memo: dict[Expr, Expr]) -> None:
        self.memo = memo

    def __call__(self, e: Expr) -> Expr:
        args = [self.memo[a] for a in e.args]
        negated = [_is_negated(a) for a in args]
        if e.dtype in _SIGNED and any(negated):
            bare = [a.args[0] if n else a for a, n in zip(args, negated, strict=True)]
            if (found := _moved(e, args, bare, negated)) is not None:
                return found
        return rebuild(e, tuple(args)) if args else e


def _is_negated(e: Expr) -> bool:
    return e.op == "neg" and e.dtype in _SIGNED


def _moved(
    e: Expr, args: list[Expr], bare: list[Expr], negated: list[bool]
) -> Expr | None:
    """``e`` of ``args``, which are ``bare`` with changed signs where ``negated``."""
    if e.op in ("mul", "div"):
        result = make(e.op, *bare)
        return result if all(negated) else -result
    if e.op == "add":
        first, second = (args[1], bare[0]) if negated[0] else (args[0], bare[1])
        return make("sub", first, second)
    if e.op == "sub" and negated[1]:
        return make("add", args[0], bare[1])
    if e.op == "cast":
        return -cast(bare[0], e.dtype)
    if e.op in SCALAR_OPS and SCALAR_OPS[e.op].is_odd:
        return -make(e.op, *bare)
    return None
