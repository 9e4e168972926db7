"""8-bit floats in kernels: codes in memory, float32 in registers.

The bitwise form of ``ir/float8.py``. Called by ``formats.py``.
"""

from __future__ import annotations

from pellucid_compiler.abi.dtypes import (
    BY_NAME,
    INFINITE,
    POWER,
    SATURATING,
    UNSIGNED_ZERO,
    DType,
)
from pellucid_compiler.codegen.builder import Function, Value

_MANTISSA, _BIAS, _NAN = 23, 127, 0x7FC00000


def decode(f: Function, code: Value, dtype: str) -> Value:
    """The float32 numbers of codes in i8."""
    row = BY_NAME[dtype]
    wide = f.convert("zext", code, "i32")
    if row.form == POWER:
        bits = f.select(wide.equals(0), 1 << (_MANTISSA - 1), wide << _MANTISSA)
        bits = f.select(wide.equals(255), _NAN, bits)
        return f.bitcast(bits, bits.type.with_element("float"))
    magnitude = wide & 0x7F
    normal = (magnitude << _MANTISSA - row.mantissa) + (_BIAS - row.bias << _MANTISSA)
    least = f.convert("uitofp", magnitude, "float") * 2.0 ** (
        1 - row.bias - row.mantissa
    )
    subnormal = f.bitcast(least, least.type.as_integer())
    bits = f.select(magnitude < 1 << row.mantissa, subnormal, normal)
    if row.form == INFINITE:
        bits = f.select(magnitude.equals(0x7C), 0x7F800000, bits)
        bits = f.select(f.compare("gt", magnitude, 0x7C), _NAN, bits)
    elif row.form == SATURATING:
        bits = f.select(magnitude.equals(0x7F), _NAN, bits)
    bits = bits | (wide & 0x80) << 24
    if row.form == UNSIGNED_ZERO:
        bits = f.select(wide.equals(0x80), _NAN, bits)
    return f.bitcast(bits, bits.type.with_element("float"))


def encode(f: Function, value: Value, dtype: str) -> Value:
    """The codes, in i32, of float32 numbers: rounded to nearest, ties to even."""
    row = BY_NAME[dtype]
    bits = f.bitcast(value, value.type.as_integer())
    if row.form == POWER:
        return _encode_power(f, bits)
    sign, magnitude = f.binary("lshr", bits, 24) & 0x80, bits & 0x7FFFFFFF
    code = _rounded(f, magnitude, row)
    most = (row.exponent + row.bias << row.mantissa) + (1 << row.mantissa) - 1
    if row.form == SATURATING:
        most -= 1
    top = {INFINITE: 0x7C, SATURATING: most}.get(row.form, 0x80)
    is_beyond = f.compare("gt", code, most)
    code = f.select(is_beyond, top, code)
    if row.form == UNSIGNED_ZERO:
        sign = f.select(code.equals(0) | is_beyond, 0, sign)
    is_nan = f.compare("gt", magnitude, 0x7F800000)
    if row.form == UNSIGNED_ZERO:
        return f.select(is_nan, 0x80, code | sign)
    return f.select(is_nan, 0x7F, code) | sign


def _rounded(f: Function, magnitude: Value, row: DType) -> Value:
    """The code of a magnitude, ignoring overflow."""
    shift = _MANTISSA - row.mantissa
    odd = f.binary("lshr", magnitude, shift) & 1
    rounded = f.binary("lshr", magnitude + odd + ((1 << shift - 1) - 1), shift)
    normal = rounded - (_BIAS - row.bias << row.mantissa)
    # Adding this rounds numbers below the normal ones to a multiple of the subnormal
    # step.
    anchor_bits = (_BIAS + 1 - row.bias - row.mantissa + _MANTISSA) << _MANTISSA
    as_float = f.bitcast(magnitude, magnitude.type.with_element("float"))
    anchor = 2.0 ** (1 - row.bias - row.mantissa + _MANTISSA)
    moved = as_float + anchor
    subnormal = f.bitcast(moved, magnitude.type) - anchor_bits
    least = (_BIAS + 1 - row.bias) << _MANTISSA
    return f.select(magnitude < least, subnormal, normal)


def _encode_power(f: Function, bits: Value) -> Value:
    exponent = f.binary("lshr", bits, _MANTISSA) & 0xFF
    half = (bits & 0x400000).differs(0)
    more = (bits & 0x3FFFFF).differs(0) | exponent.differs(0)
    up = f.convert("zext", half & more & exponent.differs(255), "i32")
    return exponent + up
