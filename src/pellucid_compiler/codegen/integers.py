"""Integer division, remainder and power in vectors: total, exact, without a trap.

The processor has no vector division of integers and traps on a zero divisor. Up to 32
bits the quotient of two doubles (up to 16 bits, of two floats) is exact after
truncation; 64-bit integers are divided lane by lane, with a divisor made safe. Called
by ``lowerings.py``.
"""

from __future__ import annotations

from pellucid_compiler.codegen.builder import Function, Value


def _quotient(f: Function, a: Value, b: Value, *, signed: bool) -> Value:
    """``a / b`` truncated; 0 for ``b == 0``; the lowest integer / -1 wraps."""
    zero = b.equals(0)
    bits = a.type.element_bits
    if bits == 64:
        wraps = b.equals(-1) if signed else f.constant(False, zero.type)
        safe = f.select(zero | wraps, 1, b)
        quotient = f.binary("sdiv" if signed else "udiv", a, safe)
        quotient = f.select(wraps, -a, quotient)
    else:
        element = "double" if bits == 32 else "float"
        to_float = "sitofp" if signed else "uitofp"
        x, y = (f.convert(to_float, value, element) for value in (a, b))
        ratio = x / f.select(zero, 1.0, y)
        # The lowest integer / -1 fits 64 bits; wrapping keeps its low bits.
        wide = f.convert("fptosi", ratio, "i64" if bits == 32 else "i32")
        quotient = f.convert("trunc", wide, a.type.element)
    return f.select(zero, 0, quotient)


def divide(f: Function, a: Value, b: Value, *, signed: bool, floor: bool) -> Value:
    """The quotient, rounded down or toward zero."""
    quotient = _quotient(f, a, b, signed=signed)
    if not (floor and signed):
        return quotient
    rest = a - quotient * b
    inexact = rest.differs(0) & b.differs(0) & ((rest ^ b) < 0)
    return f.select(inexact, quotient - 1, quotient)


def remainder(f: Function, a: Value, b: Value, *, signed: bool, floor: bool) -> Value:
    """The remainder, with the divisor's sign (``floor``) or the dividend's."""
    rest = a - _quotient(f, a, b, signed=signed) * b
    if floor and signed:
        rest = f.select(rest.differs(0) & ((rest ^ b) < 0), rest + b, rest)
    return f.select(b.equals(0), 0, rest)


def power(f: Function, base: Value, exponent: Value, *, signed: bool) -> Value:
    """``base ** exponent`` modulo 2**bits by squaring; negative exponents only for 1
    and -1.
    """
    one = f.constant(1, base.type)
    negative = exponent < 0 if signed else None
    left = exponent if negative is None else f.select(negative, 0, exponent)

    def step(carried: list[Value]) -> tuple[Value, list[Value]]:
        result, square, rest = carried
        result = f.select((rest & 1).differs(0), result * square, result)
        rest = f.binary("lshr", rest, 1)
        return f.any_lane(rest.differs(0)), [result, square * square, rest]

    result = f.repeat([one, base, left], step)[0]
    if negative is None:
        return result
    odd = (exponent & 1).differs(0)
    unit = f.select(base.equals(-1), f.select(odd, -1, one), 0)
    unit = f.select(base.equals(1), one, unit)
    return f.select(negative, unit, result)
