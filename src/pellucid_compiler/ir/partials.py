"""Forward-mode differentiation of a scalar expression by the tensor elements it reads.

``partials(e, wanted)`` returns one slope per load, never a product with a zero that
would make ``0 * inf``: the untaken side of a ``select`` does not contribute. A complex
load has two slopes, a Wirtinger pair: ``d e = sum(slope * d load) + sum(slope' * conj(d
load))``. The loop primitive builds tangents and cotangents from them. Read next:
primitives/loop.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from pellucid_compiler.ir.dtypes import is_complex, promote
from pellucid_compiler.ir.expr import (
    LOADS,
    Expr,
    as_expr,
    cast,
    const,
    is_const,
    make,
    select,
)
from pellucid_compiler.ir.scalar_ops import has_no_slope, slopes_of
from pellucid_compiler.ir.traversal import bottom_up

# (load, whether the slope belongs to the conjugate of its differential) -> slope
Slopes: TypeAlias = "dict[tuple[Expr, bool], Expr]"


def partials(e: Expr, wanted: Callable[[Expr], bool]) -> Slopes:
    """The slopes of ``e`` with respect to the loads with ``wanted(load)``."""
    return _Partials(wanted).of(e)


def _followed(e: Expr) -> tuple[Expr, ...]:
    """The operands on whose slopes those of ``e`` depend."""
    if has_no_slope(e) or e.op in LOADS:
        return ()
    if e.op == "checked":
        return e.args[:1]
    return e.args[1:] if e.op in ("select", "with_partials") else e.args


class _Partials:
    def __init__(self, wanted: Callable[[Expr], bool]) -> None:
        self.wanted = wanted
        self.memo: dict[Expr, Slopes] = {}

    def of(self, e: Expr) -> Slopes:
        return bottom_up(e, self.memo, _followed, self._compute)

    def _compute(self, e: Expr) -> Slopes:
        if has_no_slope(e):
            return {}
        if e.op in LOADS:
            return self._load(e)
        if e.op == "select":
            return self._select(e)
        out: Slopes = {}
        if e.op == "with_partials":
            if e.attr is not None:
                self._hand_rule(out, e)
        elif e.op in ("cast", "checked"):
            self._chain(out, e.args[0], 1.0)
        elif e.op == "conj":
            self._chain(out, e.args[0], 1.0, conjugate=True)
        elif e.op in ("real", "imag", "abs") and is_complex(e.args[0].dtype):
            self._real_part(out, e)
        elif any(self.of(a) for a in e.args):
            for arg, slope in zip(e.args, slopes_of(e), strict=True):
                self._chain(out, arg, slope)
        return out

    def _load(self, e: Expr) -> Slopes:
        """A padded load depends on its element only in bounds: its tangent is padded
        with zero.
        """
        return {(e, False): const(1, e.dtype)} if self.wanted(e) else {}

    def _hand_rule(self, out: Slopes, e: Expr) -> None:
        """A rule may omit trailing operands that carry no derivative (numbers), or
        return NotImplemented: then the value is differentiated as written.
        """
        found = e.attr(*e.args[1:], e)
        if found is NotImplemented:
            return self._chain(out, e.args[0], 1.0)
        slopes = found if isinstance(found, tuple) else (found,)
        for arg, slope in zip(e.args[1:], slopes, strict=False):
            self._chain(out, arg, slope)
        return None

    def _select(self, e: Expr) -> Slopes:
        condition, first, second = e.args
        a, b = self.of(first), self.of(second)
        return {
            key: select(condition, a.get(key, 0.0), b.get(key, 0.0))
            for key in {**a, **b}
        }

    def _real_part(self, out: Slopes, e: Expr) -> None:
        """``d Re(conj(s) z)`` with s = 1, i, z / |z| for real part, imag and abs."""
        z = e.args[0]
        directions = {"real": const(1.0), "imag": const(1j)}
        s = directions.get(e.op)
        if s is None:
            s = select(e == 0, 0.0, z / e)
        self._chain(out, z, make("conj", s) * 0.5)
        self._chain(out, z, s * 0.5, conjugate=True)

    def _chain(
        self, out: Slopes, arg: Expr, slope: Expr | float, conjugate: bool = False
    ) -> None:
        factor = as_expr(slope)
        if is_const(factor, 0):
            return
        for (leaf, starred), inner in self.of(arg).items():
            key = (leaf, (starred != conjugate) and is_complex(leaf.dtype))
            term = times(factor, _conjugate(inner) if conjugate else inner)
            out[key] = out[key] + term if key in out else term


def pulled_back(body: Expr, slopes: Slopes, ct: Expr) -> Iterator[tuple[Expr, Expr]]:
    """(load, term of its cotangent) for each slope of ``body``, whose cotangent is
    ``ct``: ``y = p t + q conj(t)`` pulls back to ``conj(p) ct + q conj(ct)``.

    If ``body`` is real, q is ``conj(p)`` and both halves are equal.
    """
    for (leaf, conjugated), slope in slopes.items():
        if is_complex(leaf.dtype) and not is_complex(body.dtype):
            if conjugated:
                yield leaf, times(slope * 2, ct)
        elif conjugated:
            yield leaf, times(slope, make("conj", ct))
        else:
            yield leaf, times(_conjugate(slope), ct)


def _conjugate(slope: Expr) -> Expr:
    """The conjugate; of a ``select`` on each branch, so that ``times`` sees zeros."""
    if slope.op != "select":
        return make("conj", slope)
    condition, *branches = slope.args
    return select(condition, *map(_conjugate, branches))


def _selects_zero(slope: Expr) -> bool:
    """Whether ``slope`` is a ``select``, or several nested ones, with a branch 0."""
    return slope.op == "select" and any(
        is_const(e, 0) or _selects_zero(e) for e in slope.args[1:]
    )


def times(slope: Expr, factor: Expr) -> Expr:
    """``slope * factor``, exact for a slope of 1 or -1, and for one that a ``select``
    makes 0, which stays 0 whatever the factor is (0 * inf would be NaN).
    """
    if is_const(slope, 0):
        return cast(const(0), promote(slope.dtype, factor.dtype))
    if _selects_zero(slope):
        condition, *branches = slope.args
        return select(condition, *(times(e, factor) for e in branches))
    for one, other in ((slope, factor), (factor, slope)):
        if is_const(one, 1):
            return other
        if is_const(one, -1):
            return make("neg", other)
    return slope * factor
