"""exp, exp2, expm1 and the hyperbolic functions built on them.

``x = k log 2 + r`` with ``abs(r) <= log(2) / 2``; a polynomial yields ``exp(r)`` and
the exponent field ``2 ** k``. ``log 2`` is split into two parts so that ``r`` is
accurate slightly beyond its last bit (Cody and Waite, Software Manual for the
Elementary Functions).
"""

from __future__ import annotations

from pellucid_compiler.codegen.builder import Function, Value
from pellucid_compiler.codegen.elementary import coefficients as table
from pellucid_compiler.codegen.elementary.floats import (
    double_inside,
    is_single,
    polynomial,
    power_of_two,
    round_to_integer,
    scale,
    split,
    two_sum,
)
from pellucid_compiler.codegen.elementary.pieces import odd_sigmoid

_LOG2_E = 1.4426950408889634
_LN_2, _LN_2_LOW = 0.6931471805599453, 2.3190468138462996e-17


def _clamp(f: Function, x: Value, low: float, high: float) -> Value:
    """NaN is preserved: both comparisons return it."""
    x = f.select(x < low, low, x)
    return f.select(x > high, high, x)


def _above(f: Function, x: Value, low: float, high: float) -> tuple[Value, Value]:
    """Where the result is zero, and arguments clamped, or set to 0 there: arithmetic
    that underflows can take a hundred times as long, and masked scores are full of it.
    """
    vanishes = x < low
    x = f.select(vanishes, f.constant(0.0, x.type), x)
    return vanishes, f.select(x > high, high, x)


Power = tuple[Value, Value]


def _reduce(f: Function, x: Value) -> tuple[Power, Value, Value]:
    """``k`` as a float and in integer bits, ``r`` and the rounding error of ``r``."""
    high, low = split(_LN_2, _LN_2_LOW, x)
    power = round_to_integer(f, x, _LOG2_E)
    near = f.fma(power[0], -high, x)
    r = f.fma(power[0], -low, near)
    return power, r, f.fma(power[0], -low, near - r)


def _minus_one(f: Function, r: Value, rest: Value) -> Value:
    """``exp(r + rest) - 1``."""
    terms = table.EXP_SINGLE if is_single(r) else table.EXP_DOUBLE
    return r + f.fma(r * r, polynomial(f, r, terms), rest)


def _grown(f: Function, r: Value, rest: Value) -> Value:
    """``exp(r + rest)``; the sum of 1 and ``r`` carries its rounding error."""
    terms = table.EXP_SINGLE if is_single(r) else table.EXP_DOUBLE
    high, low = two_sum(f, f.constant(1.0, r.type), r)
    return high + f.fma(r * r, polynomial(f, r, terms), rest + low)


def exp(f: Function, x: Value) -> Value:
    if not is_single(x):
        return exp_of_sum(f, x, None)
    zero = f.constant(0.0, x.type)
    vanishes, x = _above(f, x, -104.0, 89.0)
    power, r, _ = _reduce(f, x)
    return f.select(vanishes, zero, scale(f, _minus_one(f, r, zero) + 1.0, *power))


def exp_of_sum(f: Function, x: Value, low: Value | None) -> Value:
    """``exp(x + low)`` where ``low`` is the rounding error of a product ``x``."""
    bounds = (-104.0, 89.0) if is_single(x) else (-746.0, 710.0)
    vanishes, x = _above(f, x, *bounds)
    power, r, rest = _reduce(f, x)
    if low is not None:
        rest = f.fma(low, _minus_one(f, r, rest) + 1.0, rest)
    zero = f.constant(0.0, x.type)
    return f.select(vanishes, zero, scale(f, _grown(f, r, rest), *power))


def times_exp(f: Function, factor: Value, x: Value, low: Value) -> Value:
    """``factor * exp(x + low)`` for a bounded ``x`` with rounding error ``low``."""
    high_part, low_part = split(_LN_2, _LN_2_LOW, x)
    power = round_to_integer(f, x, _LOG2_E)
    near = f.fma(power[0], -high_part, x)
    r, rest = two_sum(f, near, f.fma(power[0], -low_part, low))
    return scale(f, f.fma(factor, _minus_one(f, r, rest), factor), *power)


def exp2(f: Function, x: Value) -> Value:
    bounds = (-151.0, 129.0) if is_single(x) else (-1076.0, 1025.0)
    vanishes, x = _above(f, x, *bounds)
    power = round_to_integer(f, x, 1.0)
    r = x - power[0]
    terms = table.EXP2_SINGLE if is_single(x) else table.EXP2_DOUBLE
    grown = scale(f, f.fma(r, polynomial(f, r, terms), 1.0), *power)
    return f.select(vanishes, f.constant(0.0, x.type), grown)


def expm1(f: Function, x: Value) -> Value:
    """``2**k (exp(r) - 1) + (2**k - 1)``, halved inside to avoid overflow of 2**k."""
    bounded = _clamp(f, x, *((-20.0, 89.0) if is_single(x) else (-40.0, 710.0)))
    (_, exponent), r, rest = _reduce(f, bounded)
    small = _minus_one(f, r, rest)
    half = power_of_two(f, exponent - 1)
    result = f.fma(small, half, half - 0.5) * 2.0
    result = f.select(exponent.equals(0), small, result)
    return f.copysign(result, x)


def tanh(f: Function, x: Value) -> Value:
    if is_single(x):
        return odd_sigmoid(f, x, table.TANH_PIECES, 1235 / 2048, 9.3)
    return _tanh_double(f, x)


def _tanh_double(f: Function, x: Value) -> Value:
    """``m / (m + 2)`` where ``m = expm1(2 abs(x))``; 1 where it rounds to 1."""
    doubled = _clamp(f, f.unary("fabs", x) * 2.0, 0.0, 40.0)
    (_, exponent), r, rest = _reduce(f, doubled)
    power = power_of_two(f, exponent)
    grown = f.fma(_minus_one(f, r, rest), power, power - 1.0)
    return f.copysign(grown / (grown + 2.0), x)


@double_inside
def sinh(f: Function, x: Value) -> Value:
    size = f.unary("fabs", x)
    z = size * size
    near = f.fma(z * size, polynomial(f, z, table.SINH_DOUBLE), size)
    far = _half_exp(f, size)
    far = far - 0.25 / far
    return f.copysign(f.select(size < 1.0, near, far), x)


@double_inside
def cosh(f: Function, x: Value) -> Value:
    half = _half_exp(f, f.unary("fabs", x))
    return half + 0.25 / half


def _half_exp(f: Function, x: Value) -> Value:
    """``exp(x) / 2`` without overflow before the result overflows."""
    x = _clamp(f, x, -746.0, 711.0)
    (number, exponent), r, rest = _reduce(f, x)
    return scale(f, _grown(f, r, rest), number - 1.0, exponent - 1)
