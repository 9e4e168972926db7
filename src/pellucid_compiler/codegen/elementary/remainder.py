"""Exact remainders of floats and the floor division built on them.

The C library's ``fmod`` would be a call per element, so this is long division in
vectors: each round computes as many quotient bits as the format holds, exactly, by
fused multiply-add. There is almost always a single round. Called by ``lowerings.py``.
"""

from __future__ import annotations

from pellucid_compiler.codegen.builder import Function, Value
from pellucid_compiler.codegen.elementary.floats import (
    INFINITY,
    NAN,
    bits_of,
    format_of,
    power_of_two,
)


def _exponent(f: Function, x: Value) -> Value:
    """The biased exponent of ``x > 0``, continued below 1 for subnormals."""
    shape = format_of(x)
    shift = shape.mantissa_bits + 1
    tiny = x < shape.least_normal
    normal = f.select(tiny, x * 2.0**shift, x)
    field = f.binary("lshr", bits_of(f, normal), shape.mantissa_bits)
    return f.select(tiny, field - shift, field)


def _divide_out(f: Function, rest: Value, divisor: Value) -> Value:
    """One round: ``rest`` minus a multiple of ``divisor``; both finite and >= 0."""
    bits = format_of(rest).mantissa_bits - 1
    gap = _exponent(f, rest) - _exponent(f, divisor) - bits
    gap = f.select(gap > 0, gap, 0)
    half = gap >> 1
    step = divisor * power_of_two(f, half) * power_of_two(f, gap - half)
    quotient = f.unary("trunc", rest / step)
    rest = f.fma(-quotient, step, rest)
    rest = f.select(rest < 0.0, rest + step, rest)
    return f.select(rest >= step, rest - step, rest)


def truncated_remainder(f: Function, a: Value, b: Value) -> Value:
    """``a - trunc(a / b) * b`` exactly, with the sign of ``a``, as C's ``fmod``."""
    magnitude, divisor = f.unary("fabs", a), f.unary("fabs", b)
    defined = (magnitude < INFINITY) & (divisor > 0.0)
    divides = defined & (divisor < INFINITY)
    divisor = f.select(divides, divisor, 1.0)
    start = f.select(divides, magnitude, 0.0)

    def step(carried: list[Value]) -> tuple[Value, list[Value]]:
        rest = _divide_out(f, carried[0], divisor)
        return f.any_lane(rest >= divisor), [rest]

    (rest,) = f.repeat([start], step)
    result = f.select(divides, f.copysign(rest, a), a)
    return f.select(defined, result, NAN)


def remainder(f: Function, a: Value, b: Value) -> Value:
    """The remainder with the sign of ``b``, as Python's ``%``."""
    rest = truncated_remainder(f, a, b)
    crosses = rest.differs(0.0) & ((b < 0.0) ^ (rest < 0.0))
    return f.select(crosses, rest + b, rest)


def floor_divide(f: Function, a: Value, b: Value) -> Value:
    """``floor(a / b)`` of the exact quotient; ``a / b`` for a zero divisor."""
    rest = truncated_remainder(f, a, b)
    quotient = (a - rest) / b
    crosses = rest.differs(0.0) & ((b < 0.0) ^ (rest < 0.0))
    quotient = f.select(crosses, quotient - 1.0, quotient)
    floor = f.unary("floor", quotient)
    floor = f.select(quotient - floor > 0.5, floor + 1.0, floor)
    ratio = a / b
    floor = f.select(quotient.equals(0.0), f.copysign(0.0, ratio), floor)
    return f.select(b.equals(0.0), ratio, floor)
