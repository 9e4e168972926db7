"""pow: ``exp(y log x)`` with the logarithm to twice float64's precision.

float32 computes in float64, where a plain logarithm is precise enough. The special
values are C's: ``pow(x, 0)`` and ``pow(1, y)`` are 1 even for NaN.
"""

from __future__ import annotations

from collections.abc import Callable

from pellucid_compiler.codegen.builder import Function, Value
from pellucid_compiler.codegen.elementary import coefficients as table
from pellucid_compiler.codegen.elementary.exponential import exp_of_sum
from pellucid_compiler.codegen.elementary.floats import (
    INFINITY,
    NAN,
    is_single,
    polynomial,
    power_of_two,
    round_to_integer,
    through_double,
    to_float,
    two_product,
    two_sum,
)
from pellucid_compiler.codegen.elementary.logarithm import mantissa

_LN_2, _LN_2_LOW = 0.6931471805599453, 2.3190468138462996e-17
_LOG2_E = 1.4426950408889634
_TWO_THIRDS, _TWO_THIRDS_LOW = 0.6666666666666666, 3.7007434154171886e-17


def log_in_two(f: Function, x: Value) -> tuple[Value, Value]:
    """``log x`` as two float64 numbers, for positive finite ``x``.

    ``log m = 2 s + s**3 (2/3 + ...)`` with ``s = (m - 1) / (m + 1)``; the first two
    terms are carried in two numbers each.
    """
    exponent, m = mantissa(f, x)
    t = m - 1.0
    total, lost = two_sum(f, f.constant(2.0, x.type), t)
    s = t / total
    s_low = (f.fma(-s, total, t) - s * lost) / total
    z, z_low = two_product(f, s, s)
    z_low = f.fma(s * 2.0, s_low, z_low)
    rest = z * polynomial(f, z, table.LOG_EXTRA)
    slope = rest + _TWO_THIRDS
    slope_low = (_TWO_THIRDS - slope) + rest + _TWO_THIRDS_LOW
    cube, cube_low = two_product(f, s, z)
    cube_low = cube_low + f.fma(s, z_low, s_low * z)
    third, third_low = two_product(f, cube, slope)
    third_low = third_low + f.fma(cube, slope_low, cube_low * slope)
    whole, whole_low = two_product(f, exponent, f.constant(_LN_2, x.type))
    high, low = two_sum(f, whole, s * 2.0)
    high, error = two_sum(f, high, third)
    low = low + error + third_low + f.fma(exponent, _LN_2_LOW, whole_low)
    return two_sum(f, high, f.fma(s_low, 2.0, low))


def _magnitude(f: Function, x: Value, y: Value) -> Value:
    """``x ** y`` in float64 for ``x >= 0`` other than NaN."""
    finite = (x > 0.0) & (x < INFINITY)
    high, low = log_in_two(f, f.select(finite, x, 1.0))
    high = f.select(finite, high, f.select(x.equals(0.0), -INFINITY, x))
    product, lost = two_product(f, y, high)
    lost = f.fma(y, low, lost)
    lost = f.select(f.unary("fabs", product) < 800.0, lost, 0.0)
    return exp_of_sum(f, product, lost)


def coarse_log(f: Function, x: Value) -> Value:
    """``log x`` to 36 bits for positive finite ``x`` of float64."""
    exponent, m = mantissa(f, x)
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    series = s * f.fma(z, polynomial(f, z, table.LOG_COARSE), 2.0)
    return f.fma(exponent, _LN_2, series)


def _magnitude_single(f: Function, x: Value, y: Value) -> Value:
    """``x ** y`` of float32 ``x >= 0``, in float64 with polynomials for 36 bits."""
    wide = through_double(f, x)
    finite = (wide > 0.0) & (wide < INFINITY)
    logarithm = coarse_log(f, f.select(finite, wide, 1.0))
    edge = f.select(wide.equals(0.0), -INFINITY, wide)
    logarithm = f.select(finite, logarithm, edge)
    product = through_double(f, y) * logarithm
    product = f.select(product < -200.0, -200.0, product)
    product = f.select(product > 200.0, 200.0, product)
    rounded, k = round_to_integer(f, product, _LOG2_E)
    r = f.fma(rounded, -_LN_2, product)
    grown = f.fma(r * r, polynomial(f, r, table.EXP_COARSE), r) + 1.0
    return to_float(f, grown * power_of_two(f, k))


def uniform_power(f: Function, x: Value, y: Value, lanes: int) -> Value:
    """``x ** y`` for a uniform ``y``: products, roots and quotients if it is small.

    Each is within 1.5 ulp of the power; the branches are uniform in a call.
    """

    def root() -> Value:
        """The power's zero has no sign, and its value at -inf is inf."""
        return f.select(x.equals(-INFINITY), INFINITY, f.unary("sqrt", x) + 0.0)

    cases: dict[float, Callable[[], Value]] = {
        2.0: lambda: x * x,
        3.0: lambda: x * x * x,
        0.5: root,
        -0.5: lambda: 1.0 / root(),
        -1.0: lambda: 1.0 / x,
        -2.0: lambda: 1.0 / (x * x),
    }

    def choose(left: list[float]) -> Value:
        if not left:
            return power(f, x, f.splat(y, lanes))
        first, *others = left
        chosen = f.branch(
            y.equals(first),
            lambda: [cases[first]()],
            lambda: [choose(others)],
        )
        return chosen[0]

    return choose(list(cases))


def power(f: Function, x: Value, y: Value) -> Value:
    size = f.unary("fabs", x)
    if is_single(x):
        result = _magnitude_single(f, size, y)
    else:
        result = _magnitude(f, size, y)
    whole = y.equals(f.unary("trunc", y))
    half = y * 0.5
    odd = whole & half.differs(f.unary("trunc", half))
    result = f.select((f.copysign(1.0, x) < 0.0) & odd, -result, result)
    fails = (x < 0.0) & ~whole & (size < INFINITY)
    result = f.select(fails, NAN, result)
    unit = size.equals(1.0) & f.unary("fabs", y).equals(INFINITY)
    is_one = y.equals(0.0) | x.equals(1.0) | unit
    undefined = f.is_nan(x) | f.is_nan(y)
    return f.select(is_one, 1.0, f.select(undefined, NAN, result))
