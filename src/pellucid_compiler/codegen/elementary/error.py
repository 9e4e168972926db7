"""erf, erfc and erfinv.

The float32 functions are split into pieces (``pieces.py``): erf itself, ``exp(x**2)
erfc(x)`` and ``erfinv(x) / x`` as a function of ``-log(1 - x**2)``. In float64 small
arguments use a polynomial, larger ones ``erfc(x) = exp(-x**2) p(t) / (1 + 2 x)`` with
``t = (x - 4) / (x + 4)`` (Shepherd and Laframboise, 1981); erfinv has three
polynomials, refined by one step of Halley's method.
"""

from __future__ import annotations

import math

from pellucid_compiler.codegen.builder import Function, Value
from pellucid_compiler.codegen.elementary import coefficients as table
from pellucid_compiler.codegen.elementary.exponential import exp_of_sum, times_exp
from pellucid_compiler.codegen.elementary.floats import (
    INFINITY,
    NAN,
    broad_polynomial,
    is_single,
    polynomial,
    two_product,
    two_sum,
)
from pellucid_compiler.codegen.elementary.logarithm import log, log_of_normal
from pellucid_compiler.codegen.elementary.pieces import (
    look_up,
    odd_sigmoid,
    piece_of_octaves,
    piecewise,
)

_HALF_SQRT_PI = math.sqrt(math.pi) / 2


def _near_zero(f: Function, x: Value) -> Value:
    """``erf(x)`` for small ``x`` of float64."""
    z = x * x
    return f.fma(x, polynomial(f, z, table.ERF_DOUBLE), x)


def erf(f: Function, x: Value) -> Value:
    if is_single(x):
        return odd_sigmoid(f, x, table.ERF_PIECES, 67 / 256, 4.05)
    size = f.unary("fabs", x)
    far = f.copysign(1.0 - _complement(f, size), x)
    return f.select(size < 0.77, _near_zero(f, x), far)


def erfc(f: Function, x: Value) -> Value:
    size = f.unary("fabs", x)
    if is_single(x):
        far = _complement_single(f, size)
        return f.select(x < 0.0, 2.0 - far, far)
    far = _complement(f, size)
    far = f.select(x < 0.0, 2.0 - far, far)
    return f.select(size < 0.35, 1.0 - _near_zero(f, x), far)


def _complement_single(f: Function, size: Value) -> Value:
    """``exp(-size**2)`` times a function in pieces; 0 below the smallest float32."""
    vanishes = size > 10.06
    size = f.select(vanishes, 0.0, size)
    index = piece_of_octaves(f, size + 1.0)
    t = size - look_up(f, index, table.ERFCX_PIECES_CENTER)
    slow = piecewise(f, t, index, table.ERFCX_PIECES)
    square, lost = two_product(f, size, size)
    result = times_exp(f, slow, -square, -lost)
    return f.select(vanishes, 0.0, result)


def _complement(f: Function, size: Value) -> Value:
    """``erfc(size)`` of float64 ``size >= 0``: the exponential is rounded twice."""
    size = f.select(size > 30.0, 30.0, size)
    square, lost = two_product(f, size, size)
    t = 1.0 - 8.0 / (size + 4.0)
    tail = exp_of_sum(f, -square, -lost)
    terms = table.ERFC_DOUBLE
    rest, rest_low = two_product(f, t, broad_polynomial(f, t, terms[1:]))
    scaled, scaled_low = two_sum(f, f.constant(terms[0], size.type), rest)
    total, lost = two_sum(f, size * 2.0, f.constant(1.0, size.type))
    inverse = 1.0 / total
    ratio = scaled * inverse
    lost = f.fma(-ratio, total, scaled) + (scaled_low + rest_low) - ratio * lost
    lost = lost * inverse
    return f.fma(tail, ratio, tail * lost)


def erfinv(f: Function, x: Value) -> Value:
    size = f.unary("fabs", x)
    if is_single(x):
        return _finish(f, x, _erfinv_single(f, size))
    tail = 1.0 - size
    guess = _first_guess(f, size, tail)
    far = size > 0.5
    error = f.select(far, tail - _complement(f, guess), _near_zero(f, guess) - size)
    square, lost = two_product(f, guess, guess)
    step = error * exp_of_sum(f, square, lost) * _HALF_SQRT_PI
    return _finish(f, x, guess - step / f.fma(guess, step, 1.0))


def _erfinv_single(f: Function, size: Value) -> Value:
    """``size`` times a function of ``-log(1 - size**2)`` in pieces."""
    w = -log_of_normal(f, f.fma(-size, size, 1.0))
    index = piece_of_octaves(f, w + 1.25)
    t = w - look_up(f, index, table.ERFINV_PIECES_CENTER)
    return size * piecewise(f, t, index, table.ERFINV_PIECES)


def _finish(f: Function, x: Value, result: Value) -> Value:
    """Set the sign of ``x`` and the values at 0, at 1 and beyond."""
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
