"""Argument reduction: quarter turns and a remainder of at most pi/4.

Cody and Waite's subtraction of ``k pi/2`` in three parts covers angles up to a limit;
its rounding errors are carried along, since near multiples of pi/2 little else is left.
Beyond it, the product with ``2/pi`` needs only the digits that matter modulo four: a
window of 192 bits at an offset that depends on the exponent (Payne and Hanek, 1983).
Called by ``circular.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.codegen.builder import (
    DOUBLE,
    I64,
    PTR,
    Function,
    Module,
    Type,
    Value,
)
from pellucid_compiler.codegen.elementary.floats import (
    INFINITY,
    is_single,
    power_of_two,
    round_to_integer,
    through_double,
    to_float,
    two_product,
)

_TWO_OVER_PI = 0.6366197723675814
_HALF_PI, _HALF_PI_LOW = 1.5707963267948966, 6.123233995736766e-17
_PARTS_SINGLE = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)
_PARTS_DOUBLE = (_HALF_PI, _HALF_PI_LOW, -1.4973849048591698e-33)
_LIMIT_SINGLE, _LIMIT_DOUBLE = 2.0**16, 2.0**22

# 64 zero bits, then 2/pi to 1216 binary digits.
_DIGITS = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
    0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB,
)  # fmt: skip


def reduce_angle(f: Function, x: Value) -> tuple[Value, Value, Value]:
    """Quarter turns (integer bits, correct modulo 4), the remainder, and its error."""
    parts, limit = _PARTS_DOUBLE, _LIMIT_DOUBLE
    if is_single(x):
        parts, limit = _PARTS_SINGLE, _LIMIT_SINGLE
    turns, quadrant = round_to_integer(f, x, _TWO_OVER_PI)
    near = f.fma(turns, -parts[0], x)
    product, product_low = two_product(f, turns, f.constant(-parts[1], x.type))
    middle = near + product
    moved = middle - near
    lost = (near - (middle - moved)) + (product - moved)
    rest = f.fma(turns, -parts[2], lost + product_low)
    size = f.unary("fabs", x)
    large = (size > limit) & (size < INFINITY)
    usual = [quadrant, middle, rest]
    quadrant, r, rest = f.branch(
        f.any_lane(large), lambda: _reduce_large(f, x, large, usual), lambda: usual
    )
    return quadrant, r, rest


def _reduce_large(
    f: Function, x: Value, large: Value, usual: Sequence[Value]
) -> list[Value]:
    """``usual``, with the lanes under ``large`` replaced, one after another."""
    lanes, width = x.type.lanes, x.type.element_bytes
    flags = f.convert("zext", large, "i8")
    vectors = [x, *usual, flags]
    places = [f.stack(v.type.element_bytes * lanes) for v in vectors]
    for vector, place in zip(vectors, places, strict=True):
        f.store(vector, place)
    reduce_one = f.module.shared("reduce_angle", lambda: _reduction(f.module))
    number = f.stack(24)

    def replace(lane: Value) -> None:
        angle = f.load(f.offset(places[0], lane * width), x.type.with_lanes(1))
        wide = through_double(f, angle) if is_single(x) else angle
        f.call(reduce_one, wide, number)
        new = _loaded(f, number, is_single(x))
        for value, place in zip(new, places[1:-1], strict=True):
            f.store(value, f.offset(place, lane * width))

    def each(lane: Value, _: list[Value]) -> None:
        flag = f.load(f.offset(places[-1], lane), flags.type.with_lanes(1))
        f.branch(flag.differs(0), lambda: replace(lane))

    f.loop(0, lanes, 1, [], each)
    pairs = zip(usual, places[1:-1], strict=True)
    return [f.load(place, vector.type) for vector, place in pairs]


def _loaded(f: Function, number: Value, single: bool) -> list[Value]:
    """What ``reduce_angle`` wrote, in the types of the caller's numbers."""
    quadrant = f.load(number, I64)
    high, low = (f.load(f.offset(number, place), DOUBLE) for place in (8, 16))
    if not single:
        return [quadrant, high, low]
    near = to_float(f, high)
    rest = to_float(f, high - through_double(f, near))
    return [f.convert("trunc", quadrant, "i32"), near, rest]


def _reduction(module: Module) -> Function:
    """``reduce_angle(x, out)`` writes quadrant (i64), remainder and its low part."""
    f = module.function("reduce_angle", [("x", DOUBLE), ("out", PTR)], internal=True)
    x, out = f.args
    bits = f.bitcast(x, I64)
    field = f.binary("lshr", bits, 52) & 0x7FF
    mantissa = (bits & ((1 << 52) - 1)) | (1 << 52)
    place = field - (1075 + 2 - 64)
    product = _product(f, mantissa, _window(f, place))
    quadrant, high, low = _split_product(f, product)
    scaled = high * _HALF_PI
    error = f.fma(high, _HALF_PI, -scaled)
    error = error + f.fma(high, _HALF_PI_LOW, low * _HALF_PI)
    negative = x < 0.0
    f.store(f.select(negative, -quadrant, quadrant), out)
    f.store(f.select(negative, -scaled, scaled), f.offset(out, 8))
    f.store(f.select(negative, -error, error), f.offset(out, 16))
    f.ret()
    return f


def _window(f: Function, place: Value) -> list[Value]:
    """Three words of 2/pi, from bit ``place`` of the table on."""
    table = f.module.table(f, _DIGITS, I64)
    start = f.offset(table, (place >> 6) << 3)
    words = [f.load(f.offset(start, 8 * k), I64) for k in range(4)]
    shift = place & 63
    return [
        f.intrinsic("llvm.fshl.i64", I64, words[k], words[k + 1], shift)
        for k in range(3)
    ]


def _product(f: Function, factor: Value, words: list[Value]) -> list[Value]:
    """The low 192 bits of ``factor`` times a number of three words, high word first."""
    wide = [f.convert("zext", v, "i128") for v in (factor, words[1], words[2])]
    last = wide[0] * wide[2]
    middle = wide[0] * wide[1] + f.binary("lshr", last, 64)
    carry = f.convert("trunc", f.binary("lshr", middle, 64), "i64")
    first = factor * words[0] + carry
    return [first, f.convert("trunc", middle, "i64"), f.convert("trunc", last, "i64")]


def _split_product(f: Function, words: list[Value]) -> tuple[Value, Value, Value]:
    """The top two bits, rounded, and the signed fraction as two doubles."""
    quadrant = f.binary("lshr", words[0] + (1 << 61), 62)
    two = f.integer(2)
    high = f.intrinsic("llvm.fshl.i64", I64, words[0], words[1], two)
    low = f.intrinsic("llvm.fshl.i64", I64, words[1], words[2], two)
    negative = high < 0
    fraction = _join(f, high, low)
    fraction = f.select(negative, -fraction, fraction)
    wide = Type("i128")
    zeros = f.intrinsic("llvm.ctlz.i128", wide, fraction, immediates="i1 false")
    fraction = fraction << zeros
    count = f.convert("trunc", zeros, "i64")
    first = f.convert("trunc", f.binary("lshr", fraction, 75), "i64")
    second = f.convert("trunc", f.binary("lshr", fraction, 22), "i64") & ((1 << 53) - 1)
    unit = power_of_two(f, -53 - count)
    unit = f.select(negative, -unit, unit)
    large = f.convert("sitofp", first, "double") * unit
    small = f.convert("sitofp", second, "double") * (unit * 2.0**-53)
    return quadrant, large, small


def _join(f: Function, high: Value, low: Value) -> Value:
    upper = f.convert("zext", high, "i128") << 64
    return upper | f.convert("zext", low, "i128")
