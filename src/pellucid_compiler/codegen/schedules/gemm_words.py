"""Words: four int8, or two bfloat16, of consecutive k as one element of A and B.

bfloat16 products use words only in packed panels: ``gemm_pack.py`` packs rows of B into
words and pads the last word of an odd k with zero, and ``vdpbf16ps`` adds the products
of a word to a float32. That instruction treats subnormal numbers as zeros and rounds
each addition to nearest, in every rounding mode.

An int8 product with int32 sums is a product of matrices of 32-bit words, k / 4 of them:
panels, tiles and drivers are those of int32. This module has what differs, the
multiply-add of a word: ``vpdpbusd`` if the target has it, otherwise words are widened
to two times two int16 for ``vpmaddwd``. Both are exact; sums wrap. Used by
``gemm_tile.py`` and ``gemm_dot.py``.

``vpdpbusd`` multiplies unsigned bytes by signed ones, so 128 is added to the bytes of
B. Each sum is then too large by ``OFFSET`` times the sum of A's row. The driver
subtracts the excess through the bias.
"""

from __future__ import annotations

from enum import Enum

from pellucid_compiler.codegen.builder import Type, Value

WORD = 4  # elements in a word
OFFSET = 128


class Factors(Enum):
    """What an element of a panel is, and how two of them are multiplied."""

    ELEMENTS = "elements"  # a number
    DOTS = "dots"  # a word of int8, by vpdpbusd
    PAIRS = "pairs"  # a word of int8, by vpmaddwd
    BFLOATS = "bfloats"  # a word of bfloat16, by vdpbf16ps


_BYTE, _SHORT, _BFLOAT = Type("i8"), Type("i16"), Type("bfloat")
_PAIRS = {8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}
_SIGNS = -0x7F7F7F80  # the sign bit of every byte


def left_parts(factors: Factors, a: Value) -> list[Value]:
    """The operands of ``add_products`` for a vector of A."""
    return _shorts(a) if factors is Factors.PAIRS else [a]


def right_parts(factors: Factors, b: Value) -> list[Value]:
    """The operands of ``add_products`` for a vector of B."""
    if factors is Factors.DOTS:
        return [b ^ _SIGNS]
    return left_parts(factors, b)


def add_products(
    factors: Factors, left: list[Value], right: list[Value], sums: Value
) -> Value:
    """``sums`` plus the products of a vector of A and one of B: rounded once for
    floats; integers wrap.
    """
    f, lanes = sums.function, sums.type.lanes
    if factors is Factors.BFLOATS:
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}"
        pairs = [f.bitcast(x, _BFLOAT.with_lanes(2 * lanes)) for x in (*left, *right)]
        return f.intrinsic(name, sums.type, sums, *pairs)
    if factors is Factors.DOTS:
        name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
        (a,), (b,) = left, right
        bytes_ = _BYTE.with_lanes(WORD * lanes)
        both = f.bitcast(b, bytes_), f.bitcast(a, bytes_)
        return f.intrinsic(name, sums.type, sums, *both)
    for a, b in zip(left, right, strict=True):
        if factors is Factors.PAIRS:
            sums = f.add(sums, f.intrinsic(_PAIRS[lanes], sums.type, a, b))
        else:
            sums = multiply_add(a, b, sums)
    return sums


def multiply_add(a: Value, b: Value, c: Value) -> Value:
    """``a * b + c``, rounded once for floats; integers wrap."""
    f = c.function
    return f.fma(a, b, c) if c.type.is_float else f.add(f.mul(a, b), c)


def _shorts(words: Value) -> list[Value]:
    """The bytes of words as int16: the even ones, the odd ones."""
    f = words.function
    pairs = f.bitcast(words, _SHORT.with_lanes(2 * words.type.lanes))
    even = f.binary("ashr", f.binary("shl", pairs, 8), 8)
    return [even, f.binary("ashr", pairs, 8)]
