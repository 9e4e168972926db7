"""Fits expressions to examples: how a number depends on sizes, from several traces.

The runtime only computes concrete shapes, so a program is traced at a base and at other
sizes of each symbol. A number of the trace (a size, an argument) becomes the expression
that fits all its values. If the program uses other operations than sums, products and
floor divisions there is none, and the caller reports it. ``Points`` chooses
the sizes; ``fit`` finds the expression.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import isqrt
from typing import Any, NamedTuple

from pellucid.utils._symbolic.environment import INFINITY, Symbol
from pellucid.utils._symbolic.expressions import Expr

# Steps from the example's size: uneven, to detect floor divisions, and a large one, to
# exceed slices and tables.
_STEPS = (1, 2, 5, 31, 4099)
_MANY = 16  # sizes across a range
_ALL = 64  # ranges with so few sizes are traced at each size
_NEGATIVE = (-1, -7)
_MOST = 1 << 14  # limit of traced sizes; tensors have no memory then


class Points:
    """The sizes at which a program is traced: the base, ``len(_STEPS)`` others of each
    symbol, and one where all differ. ``thorough``: also sizes across the ranges, to
    verify the fitted expressions.
    """

    def __init__(
        self,
        symbols: Sequence[Symbol],
        divisors: dict[str, int],
        thorough: bool = False,
    ) -> None:
        self.symbols = list(symbols)
        self.base = {symbol.name: symbol.hint for symbol in symbols}
        self.varied: list[tuple[str, dict[str, int]]] = []
        everything = dict(self.base)
        for index, symbol in enumerate(symbols):
            choices = _others(symbol, divisors.get(symbol.name, 1))
            self.varied += [
                (symbol.name, {**self.base, symbol.name: c}) for c in choices
            ]
            if choices:
                everything[symbol.name] = choices[index % len(choices)]
        self.all = [self.base, *(p for _, p in self.varied)]
        if len(symbols) > 1 and everything not in self.all:
            self.all.append(everything)
        for symbol in symbols if thorough else ():
            points = ({**self.base, symbol.name: c} for c in _all_over(symbol))
            self.all += [point for point in points if point not in self.all]
        self._read = [symbol for symbol in symbols if symbol.is_unbacked]
        self.all += self._together(1) + self._together(-1) + self._negative()
        self._left_out: list[dict[str, int]] = []
        self._fixed = [s.name for s in self._read if s.lower == s.upper]

    def _together(self, sign: int) -> list[dict[str, int]]:
        """Points at which two numbers that are read change: ``split(x, [m, n])``."""
        return [
            {**self.base, a.name: a.hint + step, b.name: b.hint + sign * step}
            for a, b in itertools.combinations(self._read, 2)
            for step in (1, -1)
        ]

    def _negative(self) -> list[dict[str, int]]:
        return [
            {**self.base, symbol.name: number}
            for symbol in self._read
            for number in _NEGATIVE
            if symbol.lower <= number
        ]

    def repeat(self) -> None:
        """Adds runs at the base, in which the floats that are read differ."""
        self.all += [self.base] * 2

    def leave_out(self, point: dict[str, int]) -> None:
        """For a point of numbers that are read, at which the program fails."""
        self.all.remove(point)
        self.varied = [(name, p) for name, p in self.varied if p != point]
        self._left_out.append(point)

    def require_variation(self) -> None:
        """Raises ValueError where a number that is read has one value in all points."""
        for symbol in self._read:
            seen = {point[symbol.name] for point in self.all}
            if len(seen) == 1 and symbol.name not in self._fixed:
                raise ValueError(
                    f"The program fails for other values of {symbol.name} than "
                    f"{symbol.hint}, which it reads from a tensor"
                )

    def leave_out_negative(self) -> list[int]:
        """For numbers that are read, and mean something else where they are negative;
        the places of the points that were left out.
        """
        negative = [
            (place, point)
            for place, point in enumerate(self.all)
            if any(point[s.name] < 0 <= s.hint for s in self._read)
        ]
        for _, point in negative:
            self.leave_out(point)
        return [place for place, _ in negative]

    def imply_ranges(self) -> None:
        """Numbers with which the program fails where they are negative are not so."""
        for symbol in self._read:
            tried = [{**self.base, symbol.name: number} for number in _NEGATIVE]
            if all(point in self._left_out for point in tried):
                symbol.lower = max(symbol.lower, 0)


def _others(symbol: Symbol, divisor: int) -> list[int]:
    """Other sizes in the range, near the example's and at the range's ends."""
    lower, upper = _range(symbol)
    candidates = [symbol.hint + step * divisor for step in _STEPS]
    candidates += [symbol.hint - step * divisor for step in _STEPS]
    if symbol.upper < INFINITY:
        candidates.insert(0, symbol.upper)
    candidates.insert(0, max(lower, 2))
    fit = [c for c in candidates if max(lower, 2) <= c <= upper and c != symbol.hint]
    if symbol.lower <= 1 <= upper and symbol.hint == 1:
        fit.append(1)
    return list(dict.fromkeys(fit))[: len(_STEPS) + 2]


def _range(symbol: Symbol) -> tuple[int, int]:
    """The sizes at which the symbol may be traced."""
    if symbol.is_optional:  # too small a size must not specialise it
        return symbol.hint, min(symbol.upper, _MOST, symbol.hint + _STEPS[-2])
    return max(symbol.lower, 2), min(symbol.upper, _MOST)


def _all_over(symbol: Symbol) -> list[int]:
    """Geometrically spaced sizes of the range; all sizes of a small range."""
    lower, upper = _range(symbol)
    if upper <= lower:
        return []
    if upper - lower < _ALL:
        return list(range(lower, upper + 1))
    factor = (upper / lower) ** (1 / _MANY)
    return [round(lower * factor**k) for k in range(_MANY + 1)]


def fit(values: Sequence[int], points: Points) -> Expr | None:
    """The expression with these values at ``points.all``, or None."""
    base = values[0]
    if all(v == base for v in values):
        return Expr.constant(base)
    of_symbol: dict[str, list[tuple[int, int]]] = {}
    for (name, point), value in zip(points.varied, values[1:], strict=False):
        of_symbol.setdefault(name, []).append((point[name], value))
    active = {n: s for n, s in of_symbol.items() if any(v != base for _, v in s)}
    for candidate in (
        *_candidates(base, active, points),
        *_of_one(values, points),
    ):
        if all(
            candidate.value(point) == value
            for point, value in zip(points.all, values, strict=True)
        ):
            return candidate
    return None


def _of_one(values: Sequence[int], points: Points) -> Iterator[Expr]:
    """Candidates of one symbol by all points: where it never changes alone."""
    yield from (symbol.expr for symbol in points.symbols)
    for symbol in points.symbols:
        pairs = zip(points.all, values, strict=True)
        samples = sorted({(point[symbol.name], value) for point, value in pairs})
        if len({size for size, _ in samples}) == len(samples) > 1:
            found = _line(symbol.expr, samples)
            if found is not None:
                yield found


class Real(NamedTuple):
    """A float: ``operator`` of two operands, which may be expressions."""

    operator: str
    left: Expr | float
    right: Expr | float


_ROOTS = (0.5, -0.5)
_PARTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 64, 100, 128, 255, 256, 1000)


def fit_real(values: Sequence[float], points: Points) -> Real | None:
    """The formula with these floats at ``points.all``, bit by bit: an expression over a
    number, a number over an expression, a root, or ``n / (n - 1)``; None otherwise.
    """
    for inverse, form in _REAL_FORMS:
        try:
            inner = [round(inverse(value)) for value in values]
            found = [_compute(form(number)) for number in inner]
        except (OverflowError, ValueError, ZeroDivisionError):
            continue
        if found == list(values):
            expr = fit(inner, points)
            if expr is not None:
                return form(expr)
    return None


def _compute(real: Real) -> Any:
    return getattr(operator, real.operator)(real.left, real.right)


def _less_one(n: Any) -> Any:
    return n - (Expr.constant(1) if isinstance(n, Expr) else 1)


_Form = tuple[Callable[[float], float], Callable[[Any], Real]]


def _over(part: int) -> list[_Form]:
    return [
        (lambda v: v * part, lambda n: Real("truediv", n, part)),
        (lambda v: part / v, lambda n: Real("truediv", part, n)),
    ]


def _root(power: float) -> _Form:
    return (lambda v: v ** (1 / power), lambda n: Real("pow", n, power))


_REAL_FORMS: list[_Form] = [
    *(form for part in _PARTS for form in _over(part)),
    *map(_root, _ROOTS),
    (lambda v: v / (v - 1), lambda n: Real("truediv", n, _less_one(n))),
]
"""For a float: the integer from which it is computed, and the operator."""


def _candidates(
    base: int, active: dict[str, list[tuple[int, int]]], points: Points
) -> list[Expr]:
    """Candidates that agree with the values along each single symbol."""
    lines = {
        name: _along(Expr.symbol(name), [(points.base[name], base), *samples])
        for name, samples in active.items()
    }
    if any(line is None for line in lines.values()):
        return []
    known = [line for line in lines.values() if line is not None]
    if len(known) == 1:
        return known
    total = Expr.constant(base * (1 - len(known)))
    for line in known:
        total = total + line
    found = [total]
    if base:
        product = _product(known, base)
        if product is not None:
            found.insert(0, product)
    return found


def _product(lines: list[Expr], base: int) -> Expr | None:
    """``f(a) * g(b) / base`` as a product with integer factors."""
    product = Expr.constant(1)
    for line in lines:
        product = product * line
    divisor = base ** (len(lines) - 1)
    if any(c % divisor for c in product.terms.values()):
        return None
    return Expr({m: c // divisor for m, c in product.terms.items()})


def _along(symbol: Expr, samples: list[tuple[int, int]]) -> Expr | None:
    """A line, a parabola or a floor division through the samples."""
    samples = sorted(set(samples))
    for find in (_line, _parabola, _floor, _square):
        found = find(symbol, samples)
        if found is not None:
            return found
    return None


def _line(symbol: Expr, samples: list[tuple[int, int]]) -> Expr | None:
    (a, va), (b, vb) = samples[0], samples[-1]
    slope = Fraction(vb - va, b - a)
    start = va - slope * a
    if any(slope * x + start != v for x, v in samples):
        return None
    if slope.denominator == 1 and start.denominator == 1:
        return Expr.constant(int(slope)) * symbol + Expr.constant(int(start))
    divisor = slope.denominator
    if (start * divisor).denominator != 1:
        return None
    scaled = Expr.constant(slope.numerator) * symbol + Expr.constant(
        int(start * divisor)
    )
    return scaled // Expr.constant(divisor)


def _parabola(symbol: Expr, samples: list[tuple[int, int]]) -> Expr | None:
    if len(samples) < 4:
        return None
    (x0, v0), (x1, v1), (x2, v2) = samples[0], samples[1], samples[2]
    first, second = Fraction(v1 - v0, x1 - x0), Fraction(v2 - v1, x2 - x1)
    square = (second - first) / (x2 - x0)
    slope = first - square * (x0 + x1)
    start = v0 - square * x0 * x0 - slope * x0
    if any(square * x * x + slope * x + start != v for x, v in samples):
        return None
    factors = (square, slope, start)
    if any(f.denominator != 1 for f in factors):
        return None
    a, b, c = (Expr.constant(int(f)) for f in factors)
    return a * symbol * symbol + b * symbol + c


def _floor(symbol: Expr, samples: list[tuple[int, int]]) -> Expr | None:
    """``k * ((s + b) // c) + d`` for small numbers, as with strides and paddings."""
    for divisor in range(2, 65):
        for offset in range(divisor):
            found = _floor_of(symbol, samples, divisor, offset)
            if found is not None:
                return found
    return None


def _square(symbol: Expr, samples: list[tuple[int, int]]) -> Expr | None:
    """``k * f(s) ** 2``: areas of images whose sides are one symbol."""
    factors = {_square_free(v) for _, v in samples if v}
    if len(factors) != 1:
        return None
    (factor,) = factors
    sides = [(x, isqrt(v // factor)) for x, v in samples]
    side = _line(symbol, sides) or _floor(symbol, sides)
    return None if side is None else Expr.constant(factor) * side * side


def _square_free(value: int) -> int:
    """The number without its square factors."""
    divisor = 2
    while divisor * divisor <= value and divisor < 1024:
        while value % (divisor * divisor) == 0:
            value //= divisor * divisor
        divisor += 1
    return 1 if isqrt(value) ** 2 == value else value


def _floor_of(
    symbol: Expr, samples: list[tuple[int, int]], divisor: int, offset: int
) -> Expr | None:
    quotients = [((x + offset) // divisor, v) for x, v in samples]
    different = next((q for q in quotients if q[0] != quotients[0][0]), None)
    if different is None:
        return None
    (q0, v0), (q1, v1) = quotients[0], different
    slope = Fraction(v1 - v0, q1 - q0)
    if slope.denominator != 1 or any(v0 + slope * (q - q0) != v for q, v in quotients):
        return None
    floor = (symbol + Expr.constant(offset)) // Expr.constant(divisor)
    rest = v0 - int(slope) * q0
    return Expr.constant(int(slope)) * floor + Expr.constant(rest)
