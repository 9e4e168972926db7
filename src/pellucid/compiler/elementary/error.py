"""erf, erfc and erfinv.

Small arguments have a polynomial. Larger ones use ``erfc(x) = exp(-x**2) p(t) /
(1 + 2 x)`` with ``t = (x - 4) / (x + 4)`` (Shepherd and Laframboise, 1981), float32 the
polynomial of ``log erfc``. erfinv has three polynomials, which one step of Halley's
refines to float64.
"""

from __future__ import annotations

import math

from pellucid.compiler.builder import Function, Value
from pellucid.compiler.elementary import coefficients as table
from pellucid.compiler.elementary.exponential import exp, exp_of_sum
from pellucid.compiler.elementary.floats import (
    INFINITY,
    NAN,
    broad_polynomial,
    is_single,
    polynomial,
    through_double,
    to_float,
    two_product,
    two_sum,
)
from pellucid.compiler.elementary.logarithm import log

_HALF_SQRT_PI = math.sqrt(math.pi) / 2


def _near_zero(f: Function, x: Value) -> Value:
    """``erf(x)`` for small ``x``."""
    z = x * x
    terms = table.ERF_SINGLE if is_single(x) else table.ERF_DOUBLE
    return f.fma(x, polynomial(f, z, terms), x)


def erf(f: Function, x: Value) -> Value:
    size = f.unary("fabs", x)
    if is_single(x):
        bounded = f.select(size > 4.0, 4.0, size)
        far = 1.0 - exp(f, broad_polynomial(f, bounded, table.LOG_ERFC_SINGLE))
        return f.select(size < 0.9, _near_zero(f, x), f.copysign(far, x))
    far = f.copysign(1.0 - _complement(f, size), x)
    return f.select(size < 0.77, _near_zero(f, x), far)


def _complement(f: Function, size: Value) -> Value:
    """``erfc(size)`` for ``size >= 0``; only the exponential is rounded twice."""
    terms = table.ERFC_SINGLE if is_single(size) else table.ERFC_DOUBLE
    most = 10.5 if is_single(size) else 30.0
    size = f.select(size > most, most, size)
    square, lost = two_product(f, size, size)
    t = 1.0 - 8.0 / (size + 4.0)
    tail = exp_of_sum(f, -square, -lost)
    rest, rest_low = two_product(f, t, broad_polynomial(f, t, terms[1:]))
    scaled, scaled_low = two_sum(f, f.constant(terms[0], size.type), rest)
    total, lost = two_sum(f, size * 2.0, f.constant(1.0, size.type))
    inverse = 1.0 / total
    ratio = scaled * inverse
    lost = f.fma(-ratio, total, scaled) + (scaled_low + rest_low) - ratio * lost
    lost = lost * inverse
    return f.fma(tail, ratio, tail * lost)


def erfc(f: Function, x: Value) -> Value:
    far = _complement(f, f.unary("fabs", x))
    far = f.select(x < 0.0, 2.0 - far, far)
    near = 1.0 - _near_zero(f, x)
    return f.select(f.unary("fabs", x) < 0.35, near, far)


def erfinv(f: Function, x: Value) -> Value:
    if is_single(x):
        wide = through_double(f, x)
        size = f.unary("fabs", wide)
        return to_float(f, _finish(f, wide, _first_guess(f, size, 1.0 - size)))
    size = f.unary("fabs", x)
    tail = 1.0 - size
    guess = _first_guess(f, size, tail)
    far = size > 0.5
    error = f.select(far, tail - _complement(f, guess), _near_zero(f, guess) - size)
    square, lost = two_product(f, guess, guess)
    step = error * exp_of_sum(f, square, lost) * _HALF_SQRT_PI
    return _finish(f, x, guess - step / f.fma(guess, step, 1.0))


def _finish(f: Function, x: Value, result: Value) -> Value:
    """The sign of ``x`` and the values at 0, 1 and beyond."""
    size = f.unary("fabs", x)
    result = f.select(size < 1.0, result, NAN)
    result = f.select(size.equals(1.0), INFINITY, result)
    return f.select(x.equals(0.0), x, f.copysign(result, x))


def _first_guess(f: Function, size: Value, tail: Value) -> Value:
    """``erfinv(size)`` to eight digits: three polynomials."""
    safe = f.select(tail > 0.0, tail, 1.0)
    root = f.unary("sqrt", -log(f, safe))
    middle = root * polynomial(f, root, table.ERFINV_MIDDLE)
    end = root * polynomial(f, root, table.ERFINV_TAIL)
    central = size * polynomial(f, size * size, table.ERFINV_CENTRAL)
    beyond = f.select(root < 2.6, middle, end)
    return f.select(size < 0.75, central, beyond)
