"""lgamma, digamma and trigamma, computed in float64 for either float; lgamma of float32
has shorter series.

Polynomials near the zeros of lgamma at 1 and 2, and of digamma at 1.46; recurrence
between; asymptotic series beyond 8 to 12; reflection below 0 (Abramowitz and Stegun,
chapter 6). Near lgamma's zeros on the negative axis the error bound is absolute, not
relative.
"""

from __future__ import annotations

import math

from pellucid_compiler.codegen.builder import Function, Value
from pellucid_compiler.codegen.elementary import coefficients as table
from pellucid_compiler.codegen.elementary.circular import cos, sin
from pellucid_compiler.codegen.elementary.floats import (
    INFINITY,
    NAN,
    double_inside,
    is_single,
    polynomial,
    through_double,
    to_float,
    two_product,
    two_sum,
)
from pellucid_compiler.codegen.elementary.logarithm import log
from pellucid_compiler.codegen.elementary.power import coarse_log, log_in_two

_STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156,
    -3617 / 122400,
)  # fmt: skip
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_TRIGAMMA = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_HALF_LOG_2_PI = 0.5 * math.log(2 * math.pi)
_HALF_LOG_2_PI_LOW = -3.8782941580672414e-17


def _sine_of_pi(f: Function, x: Value) -> Value:
    """``abs(sin(pi x))`` from the exact distance to the nearest integer."""
    rest = x - f.unary("roundeven", x)
    return f.unary("fabs", sin(f, rest * math.pi))


def _reduced(f: Function, x: Value) -> tuple[Value, Value, Value, Value]:
    """Distances from 1 and from 2 of a number near them; a factor whose logarithm must
    be added, or, for ``x < 0.7`` (the last value), subtracted.
    """
    low = x < 0.7
    steps = f.select(x > 2.5, f.unary("ceil", x - 2.5), 0.0)
    factor, reduced = f.constant(1.0, x.type), x
    for k in range(6):
        inside = steps > float(k)
        reduced = f.select(inside, reduced - 1.0, reduced)
        factor = f.select(inside, factor * reduced, factor)
    by_one = f.select(low, x, reduced - 1.0)
    by_two = f.select(low, x - 1.0, reduced - 2.0)
    return by_one, by_two, f.select(low, x, factor), low


def _log_gamma_positive(f: Function, x: Value) -> Value:
    """lgamma for ``x > 0``."""
    by_one, by_two, factor, low = _reduced(f, x)
    first = by_one * polynomial(f, by_one, table.LGAMMA_ONE)
    second = by_two * polynomial(f, by_two, table.LGAMMA_TWO)
    center = f.select(by_one < 0.3, first, second)
    logarithm = log(f, factor)
    center = center + f.select(low, -logarithm, logarithm)
    return f.select(x < 8.0, center, _stirling(f, x))


def _stirling(f: Function, x: Value) -> Value:
    """``(x - 1/2) log x - x + log(2 pi) / 2 + ...`` with the leading terms as two
    numbers.
    """
    x = f.select(x < 8.0, 8.0, x)
    high, low = log_in_two(f, x)
    main, lost = two_product(f, x - 0.5, high)
    lost = f.fma(x - 0.5, low, lost)
    inverse = 1.0 / x
    series = inverse * polynomial(f, inverse * inverse, _STIRLING)
    total, error = two_sum(f, main, -x)
    finite = total + (error + lost + series + _HALF_LOG_2_PI)
    return f.select(main < INFINITY, finite, INFINITY)


def _log_gamma_coarse(f: Function, x: Value) -> Value:
    """lgamma to 32 bits for ``x > 0`` of float64: one logarithm covers all cases."""
    by_one, by_two, factor, low = _reduced(f, x)
    first = by_one * polynomial(f, by_one, table.LGAMMA_ONE_COARSE)
    second = by_two * polynomial(f, by_two, table.LGAMMA_TWO_COARSE)
    center = f.select(by_one < 0.3, first, second)
    large = x >= 8.0
    logarithm = coarse_log(f, f.select(large, x, factor))
    center = center + f.select(low, -logarithm, logarithm)
    inverse = 1.0 / x
    series = f.fma(inverse, polynomial(f, inverse * inverse, _STIRLING[:3]), -x)
    far = f.fma(x - 0.5, logarithm, series + _HALF_LOG_2_PI)
    return f.select(large, far, center)


def lgamma(f: Function, x: Value) -> Value:
    if is_single(x):
        return to_float(f, _lgamma_single(f, through_double(f, x)))
    size = f.unary("fabs", x)
    positive = _log_gamma_positive(f, size)
    reflected = log(f, math.pi / (size * _sine_of_pi(f, size))) - positive
    tiny = size < 1e-17
    reflected = f.select(tiny, -log(f, size), reflected)
    return _at_poles(f, x, f.select(x < 0.0, reflected, positive))


def _lgamma_single(f: Function, x: Value) -> Value:
    """lgamma of float32 computed in float64; calls below 0 are rare."""
    size = f.unary("fabs", x)
    positive = _log_gamma_coarse(f, size)
    below = x < 0.0

    def reflected() -> list[Value]:
        other = coarse_log(f, math.pi / (size * _sine_of_pi(f, size))) - positive
        return [f.select(below, other, positive)]

    result = f.branch(f.any_lane(below), reflected, lambda: [positive])[0]
    return _at_poles(f, x, result)


def _at_poles(f: Function, x: Value, result: Value) -> Value:
    size = f.unary("fabs", x)
    pole = (x <= 0.0) & x.equals(f.unary("floor", x))
    result = f.select(pole | size.equals(INFINITY), INFINITY, result)
    return f.select(f.is_nan(x), x, result)


def _digamma_positive(f: Function, x: Value) -> Value:
    """digamma for ``x > 0``."""
    low = x < 1.0
    y = f.select(low, x + 1.0, x)
    total = f.select(low, -1.0 / x, 0.0)
    large = x >= 10.0
    for _ in range(8):
        above = (y > 2.0) & ~large
        y = f.select(above, y - 1.0, y)
        total = f.select(above, total + 1.0 / y, total)
    t = (y - table.DIGAMMA_ROOT_HIGH) - table.DIGAMMA_ROOT_LOW
    t = f.select(large, 0.0, t)
    center = f.fma(t, polynomial(f, t, table.DIGAMMA_ROOT), total)
    x = f.select(large, x, 10.0)
    z = 1.0 / (x * x)
    series = 0.5 / x + z * polynomial(f, z, _DIGAMMA)
    return f.select(large, log(f, x) - series, center)


@double_inside
def digamma(f: Function, x: Value) -> Value:
    """Reflection: ``digamma(1 - x) - pi / tan(pi x)``."""
    below = x < 0.0
    rest = (x - f.unary("roundeven", x)) * math.pi
    cotangent = math.pi * cos(f, rest) / sin(f, rest)
    result = _digamma_positive(f, f.select(below, 1.0 - x, x))
    result = f.select(below, result - cotangent, result)
    result = f.select(below & x.equals(f.unary("floor", x)), NAN, result)
    zero = f.copysign(f.constant(INFINITY, x.type), -x)
    return f.select(x.equals(0.0), zero, result)


@double_inside
def trigamma(f: Function, x: Value) -> Value:
    """Reflection: ``(pi / sin(pi x))**2 - trigamma(1 - x)``."""
    below = x < 0.0
    y = f.select(below, 1.0 - x, x)
    steps = f.unary("ceil", 12.0 - f.select(y < 12.0, y, 12.0))
    inverse = 1.0 / (y + steps)
    z = inverse * inverse
    result = z * 0.5 + z * inverse * polynomial(f, z, _TRIGAMMA) + inverse
    for k in reversed(range(12)):
        term = y + float(k)
        result = f.select(steps > float(k), result + 1.0 / (term * term), result)
    ratio = math.pi / _sine_of_pi(f, x)
    result = f.select(below, ratio * ratio - result, result)
    pole = (x <= 0.0) & x.equals(f.unary("floor", x))
    return f.select(pole, INFINITY, result)
