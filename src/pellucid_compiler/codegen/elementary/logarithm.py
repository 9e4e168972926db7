"""log, log2, log10, log1p and the inverse hyperbolic functions built on them.

``x = 2**e m``. In float64 ``m`` is in [sqrt(1/2), sqrt(2)) and uses a polynomial in ``s
= f / (2 + f)`` with ``f = m - 1``, since ``log m = 2 atanh s`` converges fast. In
float32 ``m`` is in one of sixteen pieces of [0.734, 1.47), and its product with a short
number near the piece's inverse is close to 1 (Tang, 1990); the logarithm of that number
is in a table. The rounding errors of the leading terms are carried as a second number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pellucid_compiler.codegen.builder import Function, Value
from pellucid_compiler.codegen.elementary import coefficients as table
from pellucid_compiler.codegen.elementary.floats import (
    INFINITY,
    NAN,
    bits_of,
    double_inside,
    format_of,
    from_bits,
    is_single,
    polynomial,
    split,
    two_product,
    two_sum,
)
from pellucid_compiler.codegen.elementary.pieces import look_up

_LN_2 = 0.6931471805599453
# The first parts end in zero bits, so that their products with an exponent are exact.
_LN_2_SINGLE = (0.693145751953125, 1.4286068203094173e-06)
_LN_2_DOUBLE = (0.6931471803691238, 1.9082149292705877e-10)
_LOG10_2_SINGLE = (0.301025390625, 4.605038981195214e-06)
_LOG2_E, _LOG2_E_LOW = 1.4426950408889634, 2.0355273740931033e-17
_LOG10_E, _LOG10_E_LOW = 0.4342944819032518, 1.098319650216765e-17
_LOG10_2, _LOG10_2_LOW = 0.3010299956639812, -2.8037281277851704e-18
_SQRT_HALF_BITS = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}
_FIRST_PIECE_BITS = 0x3F3C0000
_LEAST_NORMAL = 2.0**-126


def mantissa(f: Function, x: Value) -> tuple[Value, Value]:
    """``e`` as a float and ``m`` of ``x = 2**e m``; a subnormal ``x`` is scaled up."""
    shape = format_of(x)
    shift = shape.mantissa_bits + 1
    tiny = x < shape.least_normal
    bits = bits_of(f, f.select(tiny, x * 2.0**shift, x))
    above = bits - _SQRT_HALF_BITS[x.type.element]
    exponent = above >> shape.mantissa_bits
    mantissa = from_bits(f, bits - (exponent << shape.mantissa_bits))
    exponent = f.select(tiny, exponent - shift, exponent)
    return f.convert("sitofp", exponent, x.type.element), mantissa


def _log_of_mantissa(f: Function, m: Value) -> tuple[Value, Value]:
    """``log m`` as two numbers, the second small; ``m`` in [sqrt(1/2), sqrt(2))."""
    t = m - 1.0
    square = t * t
    half, half_low = square * 0.5, f.fma(t, t, -square) * 0.5
    high = t - half
    low = ((t - high) - half) - half_low
    s = t / (t + 2.0)
    z = s * s
    atanh = z * polynomial(f, z, table.LOG_DOUBLE)
    return high, f.fma(s, half + atanh, low)


def _pieces(f: Function, x: Value, scaled: Value | None) -> tuple[Value, Value, Value]:
    """``e`` as a float, the number of ``m``'s piece and ``m * inverse - 1``, for ``x /
    2**scaled`` with normal ``x > 0`` of float32.
    """
    shape = format_of(x)
    bits = bits_of(f, x)
    above = bits - _FIRST_PIECE_BITS
    exponent = above >> shape.mantissa_bits
    m = from_bits(f, bits - (exponent << shape.mantissa_bits))
    index = above >> (shape.mantissa_bits - 4)
    r = f.fma(m, look_up(f, index, table.LOG_PIECES[0]), -1.0)
    exponent = f.convert("sitofp", exponent, "float")
    return exponent if scaled is None else exponent - scaled, index, r


def _joined(
    f: Function,
    exponent: Value,
    index: Value,
    unit: tuple[float, float],
    parts: Sequence[Sequence[float]],
) -> tuple[Value, Value]:
    """The logarithm of ``2**e / inverse``; the first number is exact."""
    high, low = (look_up(f, index, row) for row in parts)
    return f.fma(exponent, unit[0], high), f.fma(exponent, unit[1], low)


def _special(f: Function, x: Value, result: Value) -> Value:
    """The values at 0, infinity and NaN, and below 0."""
    result = f.select(x < INFINITY, result, x)
    result = f.select(x < 0.0, NAN, result)
    return f.select(x.equals(0.0), -INFINITY, result)


def _everywhere(
    f: Function, x: Value, function: Callable[[Value, Value | None], Value]
) -> Value:
    """A logarithm of float32 from ``function(y, n)``, that of ``y / 2**n`` for normal
    ``y > 0``.
    """

    def unusual() -> list[Value]:
        tiny = x < _LEAST_NORMAL
        normal = f.select(tiny, x * 2.0**24, x)
        scaled = f.select(tiny, f.constant(24.0, x.type), 0.0)
        return [_special(f, x, function(normal, scaled))]

    usual = (x >= _LEAST_NORMAL) & (x < INFINITY)
    return f.branch(f.any_lane(~usual), unusual, lambda: [function(x, None)])[0]


def log_of_normal(
    f: Function,
    x: Value,
    scaled: Value | None = None,
    correction: Value | None = None,
) -> Value:
    """``log(x / 2**scaled) + correction`` for normal ``x > 0`` of float32."""
    exponent, index, r = _pieces(f, x, scaled)
    start, low = _joined(f, exponent, index, _LN_2_SINGLE, table.LOG_PARTS)
    if correction is not None:
        low = low + correction
    low = f.fma(r * r, polynomial(f, r, table.LOG_NEAR), low)
    total, error = two_sum(f, start, r)
    return total + (error + low)


def _natural(f: Function, x: Value, correction: Value | None) -> Value:
    """``log(x) + correction`` for positive finite ``x``, normal if float32."""
    if is_single(x):
        return log_of_normal(f, x, None, correction)
    exponent, m = mantissa(f, x)
    high, low = _log_of_mantissa(f, m)
    if correction is not None:
        low = low + correction
    ln2, ln2_low = _LN_2_DOUBLE
    total, error = two_sum(f, exponent * ln2, high)
    return total + (error + f.fma(exponent, ln2_low, low))


def log(f: Function, x: Value) -> Value:
    if is_single(x):
        return _everywhere(f, x, lambda y, scaled: log_of_normal(f, y, scaled))
    return _special(f, x, _natural(f, x, None))


def log1p(f: Function, x: Value) -> Value:
    """The logarithm of ``u = 1 + x`` plus the rounding error of ``u``, divided by
    ``u``.
    """
    u = x + 1.0
    back = u - 1.0
    lost = (x - back) + (1.0 - (u - back))
    result = _natural(f, u, lost / u)
    result = f.select(u.equals(INFINITY), u, result)
    result = f.select(x < -1.0, NAN, result)
    result = f.select(x.equals(-1.0), -INFINITY, result)
    return f.select(x.equals(0.0) | f.is_nan(x), x, result)


def _in_base(
    f: Function, x: Value, base: tuple[float, float], exponent_unit: tuple[float, float]
) -> Value:
    exponent, m = mantissa(f, x)
    high, low = _log_of_mantissa(f, m)
    high, low = two_sum(f, high, low)
    factor, factor_low = base
    unit, unit_low = exponent_unit
    main, rest = two_product(f, high, f.constant(factor, x.type))
    rest = rest + f.fma(high, factor_low, low * factor)
    whole, whole_low = two_product(f, exponent, f.constant(unit, x.type))
    rest = rest + f.fma(exponent, unit_low, whole_low)
    total, error = two_sum(f, whole, main)
    return _special(f, x, total + (error + rest))


def _in_base_single(
    f: Function,
    x: Value,
    base: tuple[float, float],
    unit: tuple[float, float],
    parts: Sequence[Sequence[float]],
) -> Value:
    factor, factor_low = split(*base, x)
    terms = [factor_low, *(factor * c for c in table.LOG_NEAR)]

    def of_normal(y: Value, scaled: Value | None) -> Value:
        exponent, index, r = _pieces(f, y, scaled)
        start, low = _joined(f, exponent, index, unit, parts)
        main, rest = two_product(f, r, f.constant(factor, x.type))
        low = f.fma(r, polynomial(f, r, terms), low + rest)
        total, error = two_sum(f, start, main)
        return total + (error + low)

    return _everywhere(f, x, of_normal)


def log2(f: Function, x: Value) -> Value:
    base, unit = (_LOG2_E, _LOG2_E_LOW), (1.0, 0.0)
    if is_single(x):
        return _in_base_single(f, x, base, unit, table.LOG2_PARTS)
    return _in_base(f, x, base, unit)


def log10(f: Function, x: Value) -> Value:
    base = _LOG10_E, _LOG10_E_LOW
    if is_single(x):
        return _in_base_single(f, x, base, _LOG10_2_SINGLE, table.LOG10_PARTS)
    return _in_base(f, x, base, (_LOG10_2, _LOG10_2_LOW))


@double_inside
def asinh(f: Function, x: Value) -> Value:
    size = f.unary("fabs", x)
    large = size > 2.0**28
    bounded = f.select(large, 1.0, size)
    square = bounded * bounded
    grown = bounded + square / (f.unary("sqrt", square + 1.0) + 1.0)
    near = log1p(f, grown)
    far = log(f, size) + _LN_2
    return f.copysign(f.select(large, far, near), x)


@double_inside
def acosh(f: Function, x: Value) -> Value:
    large = x > 2.0**28
    above = f.select(large, 1.0, x - 1.0)
    root = f.unary("sqrt", f.fma(above, above, above * 2.0))
    near = log1p(f, above + root)
    far = log(f, x) + _LN_2
    return f.select(x < 1.0, NAN, f.select(large, far, near))


@double_inside
def atanh(f: Function, x: Value) -> Value:
    size = f.unary("fabs", x)
    ratio = (size + size) / (1.0 - size)
    return f.copysign(log1p(f, ratio) * 0.5, x)
