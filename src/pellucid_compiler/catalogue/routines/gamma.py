"""Incomplete gamma functions and Hurwitz' zeta in NumPy: sums without a fixed length.

A series left of ``a + 1``, Lentz's continued fraction right of it (Numerical Recipes,
6.2); both run until every element has converged. Used by special.py.
"""

import math
from typing import Any

_MOST = 100_000
_ROUNDING = 5e-16  # the distance from 1 of converged factors
_ZETA_TERMS = 9
# Bernoulli numbers over factorials: B_2j / (2j)!
_BERNOULLI = (
    *(1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160),
    *(-691 / 1307674368000, 1 / 74724249600, -3617 / 10670622842880000),
)


def incomplete(a: Any, x: Any, upper: bool) -> list[Any]:
    """The regularized integral from 0 to x, or with ``upper`` from x on."""
    import numpy

    wide_a, wide_x = numpy.float64(a), numpy.float64(x)
    valid = (wide_a >= 0) & (wide_x >= 0) & ~((wide_a == 0) & (wide_x == 0))
    zero, infinite = wide_x == 0, numpy.isinf(wide_x) | (wide_a == 0)
    never = numpy.isinf(wide_a) & ~numpy.isinf(wide_x)
    inside = valid & ~zero & ~infinite & ~never
    safe_a = numpy.where(inside, wide_a, 1.0)
    safe_x = numpy.where(inside, wide_x, 1.0)
    log_gamma = numpy.vectorize(math.lgamma, otypes=[float])(safe_a)
    with numpy.errstate(all="ignore"):
        front = numpy.exp(safe_a * numpy.log(safe_x) - safe_x - log_gamma)
        left = safe_x < safe_a + 1
        below = front * _series(safe_a, numpy.where(left, safe_x, 0.5 * safe_a))
        above = front * _fraction(safe_a, numpy.where(left, safe_a + 1, safe_x))
    lower = numpy.where(left, below, 1 - above)
    if upper:
        lower = numpy.where(left, 1 - below, above)
    ends = (
        numpy.where(zero | never, 0.0, 1.0)
        if not upper
        else numpy.where(zero | never, 1.0, 0.0)
    )
    both = numpy.isinf(wide_a) & numpy.isinf(wide_x)
    result = numpy.where(inside, lower, numpy.where(valid & ~both, ends, math.nan))
    return [result.astype(a.dtype)]


def _series(a: Any, x: Any) -> Any:
    import numpy

    term = 1 / a
    total, place = term.copy(), a.copy()
    for _ in range(_MOST):
        place = place + 1
        term = term * x / place
        total = total + term
        if not numpy.any(numpy.abs(term) > 1e-17 * numpy.abs(total)):
            break
    return total


def _fraction(a: Any, x: Any) -> Any:
    import numpy

    tiny = 1e-300
    b = x + 1 - a
    c = numpy.full_like(x, 1 / tiny)
    d = 1 / b
    fraction = d.copy()
    for k in range(1, _MOST):
        factor = -k * (k - a)
        b = b + 2
        d = factor * d + b
        d = 1 / numpy.where(numpy.abs(d) < tiny, tiny, d)
        c = b + factor / c
        c = numpy.where(numpy.abs(c) < tiny, tiny, c)
        step = c * d
        fraction = fraction * step
        if not numpy.any(numpy.abs(step - 1) > _ROUNDING):
            break
    return fraction


def zeta(s: Any, q: Any) -> list[Any]:
    """``sum (q + k) ** -s``; for negative q, the terms below 0 are a difference of two
    such sums.
    """
    import numpy

    wide_s, wide_q = numpy.float64(s), numpy.float64(q)
    with numpy.errstate(all="ignore"):
        count = numpy.where(wide_q > 0, 0.0, numpy.ceil(-wide_q))
        start = numpy.where(wide_q > 0, wide_q, wide_q + count)
        left = numpy.where(start < 1, 1 - start, 1.0)
        behind = _hurwitz(wide_s, left) - _hurwitz(wide_s, left + count)
        behind = numpy.where(wide_s % 2 == 1, -behind, behind)
        result = _hurwitz(wide_s, numpy.where(start > 0, start, 1.0))
        result = result + numpy.where(count == 0, 0.0, behind)
        whole = wide_q == numpy.floor(wide_q)
        is_undefined = (wide_q < 0) & (wide_s != numpy.floor(wide_s))
        result = numpy.where(is_undefined, numpy.nan, result)
        result = numpy.where((wide_q <= 0) & whole, numpy.inf, result)
        is_unknown = numpy.isnan(wide_q) | numpy.isposinf(wide_q)
        result = numpy.where(~(wide_s > 1) | is_unknown, numpy.nan, result)
        result = numpy.where(wide_s == 1, numpy.inf, result)
        return [result.astype(s.dtype)]


def _hurwitz(s: Any, q: Any) -> Any:
    """For q > 0 (Euler and Maclaurin)."""
    total = sum((q + k) ** -s for k in range(_ZETA_TERMS))
    a = q + _ZETA_TERMS
    last = a**-s
    total = total + last * a / (s - 1) + 0.5 * last
    factor, term = s, last / a
    for j, number in enumerate(_BERNOULLI):
        total = total + number * factor * term
        factor = factor * (s + 2 * j + 1) * (s + 2 * j + 2)
        term = term / (a * a)
    return total
