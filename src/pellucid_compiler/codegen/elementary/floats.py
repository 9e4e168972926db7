"""The bit formats of float32 and float64, and error-free arithmetic on them.

Used by the other modules of this folder. Read next: ``exponential.py``.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pellucid_compiler.codegen.builder import Function, Type, Value

INFINITY = math.inf
NAN = math.nan


@dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format."""

    mantissa_bits: int
    bias: int

    @property
    def least_normal(self) -> float:
        return math.ldexp(1.0, 1 - self.bias)

    @property
    def rounding_shift(self) -> float:
        """Adding it rounds a number to an integer, which is then in the low bits."""
        return 1.5 * math.ldexp(1.0, self.mantissa_bits)


_FORMATS = {"float": FloatFormat(23, 127), "double": FloatFormat(52, 1023)}


def format_of(value: Value) -> FloatFormat:
    return _FORMATS[value.type.element]


def is_single(value: Value) -> bool:
    return value.type.element == "float"


def to_single(number: float) -> float:
    """``number`` rounded to float32."""
    result: float = struct.unpack("<f", struct.pack("<f", number))[0]
    return result


def split(number: float, low: float, value: Value) -> tuple[float, float]:
    """The constant ``number + low`` as the nearest number and the remainder."""
    if not is_single(value):
        return number, low
    high = to_single(number)
    return high, to_single((number - high) + low)


def bits_of(f: Function, value: Value) -> Value:
    return f.bitcast(value, value.type.as_integer())


def from_bits(f: Function, bits: Value) -> Value:
    element = "float" if bits.type.element == "i32" else "double"
    return f.bitcast(bits, bits.type.with_element(element))


def polynomial(f: Function, x: Value, coefficients: Sequence[float]) -> Value:
    """``c[0] + c[1] x + ...`` by Horner's rule, one rounding per step."""
    result = f.constant(coefficients[-1], x.type)
    for coefficient in reversed(coefficients[:-1]):
        result = f.fma(result, x, coefficient)
    return result


def broad_polynomial(f: Function, x: Value, terms: Sequence[float]) -> Value:
    """``polynomial`` as the sum of its even and odd terms: half the length of the
    dependency chain, for functions so long that processors do not overlap them with
    other vectors.
    """
    square = x * x
    odd = polynomial(f, square, terms[1::2])
    return f.fma(x, odd, polynomial(f, square, terms[::2]))


def power_of_two(f: Function, exponent: Value) -> Value:
    """``2 ** exponent`` for integers in the range of normal numbers."""
    single = exponent.type.element == "i32"
    shape = _FORMATS["float" if single else "double"]
    return from_bits(f, (exponent + shape.bias) << shape.mantissa_bits)


def scale(f: Function, x: Value, number: Value, exponent: Value) -> Value:
    """``x * 2 ** exponent``, rounded once if the result is subnormal; ``number`` is the
    exponent as a float.

    Two factors cover the range from the smallest subnormal to overflow."""
    if f.module.has_avx512 and x.type.lanes * x.type.element_bits in (256, 512):
        return _scaled(f, x, number)
    half = exponent >> 1
    return x * power_of_two(f, half) * power_of_two(f, exponent - half)


def _scaled(f: Function, x: Value, number: Value) -> Value:
    """The same as one AVX-512 instruction."""
    lanes, width = x.type.lanes, x.type.lanes * x.type.element_bits
    kind = "ps" if is_single(x) else "pd"
    every_lane = f.constant(-1, Type(f"i{max(lanes, 8)}"))
    return f.intrinsic(
        f"llvm.x86.avx512.mask.scalef.{kind}.{width}",
        x.type,
        x,
        number,
        x,
        every_lane,
        immediates="i32 4" if width == 512 else "",
    )


def round_to_integer(f: Function, x: Value, factor: float) -> tuple[Value, Value]:
    """The integer nearest ``x * factor``, as a float and in integer bits.

    Only for results below 2**22 (2**51 for float64); larger ones are arbitrary, but not
    poison."""
    shift = format_of(x).rounding_shift
    shifted = f.fma(x, factor, shift)
    rounded = shifted - shift
    constant = f.constant(shift, x.type)
    return rounded, bits_of(f, shifted) - bits_of(f, constant)


def through_double(f: Function, x: Value) -> Value:
    return f.convert("fpext", x, "double")


def to_float(f: Function, x: Value) -> Value:
    return f.convert("fptrunc", x, "float")


def two_sum(f: Function, a: Value, b: Value) -> tuple[Value, Value]:
    """``a + b`` and its rounding error, for ``abs(a) >= abs(b)``."""
    total = a + b
    return total, b - (total - a)


def two_product(f: Function, a: Value, b: Value) -> tuple[Value, Value]:
    """``a * b`` and its rounding error."""
    product = a * b
    return product, f.fma(a, b, -product)


def double_inside(function: Callable[..., Value]) -> Callable[..., Value]:
    """Compute float32 operands in float64: nearly correctly rounded, half as fast."""

    def apply(f: Function, *operands: Value) -> Value:
        if not is_single(operands[0]):
            return function(f, *operands)
        return to_float(f, function(f, *(through_double(f, x) for x in operands)))

    return apply
