"""Functions in sixteen pieces, each with its own coefficients.

A table of sixteen float32 numbers fits one AVX-512 register (two of AVX2), and one
instruction selects an entry for every lane. A short polynomial per piece thus replaces
one long polynomial, and branches between formulas. The pieces of ``piece_of_octaves``
become finer towards zero. Called by ``error.py``, ``exponential.py`` and
``logarithm.py``; the tables come from ``tools/fit_elementary.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.codegen.builder import FLOAT, Function, Type, Value
from pellucid_compiler.codegen.elementary.floats import bits_of, round_to_integer

PIECES = 16


def look_up(f: Function, index: Value, entries: Sequence[float]) -> Value:
    """``entries[index % 16]`` in every lane."""
    lanes = index.type.lanes
    result = Type("float", lanes)
    if lanes == PIECES and f.module.has_avx512:
        row = f.lane_constants(entries, FLOAT)
        return f.intrinsic("llvm.x86.avx512.permvar.sf.512", result, row, index)
    if lanes != 8:
        return _from_memory(f, entries, index)
    low, high = (f.lane_constants(entries[k : k + 8], FLOAT) for k in (0, 8))
    if f.module.has_avx512:
        name = "llvm.x86.avx512.vpermi2var.ps.256"
        return f.intrinsic(name, result, low, index, high)
    below, above = (
        f.intrinsic("llvm.x86.avx2.permps", result, row, index) for row in (low, high)
    )
    return f.select((index & 8).equals(0), below, above)


def _from_memory(f: Function, entries: Sequence[float], index: Value) -> Value:
    place = f.module.table(f, entries, FLOAT)
    offsets = f.convert("zext", (index & (PIECES - 1)) << 2, "i64")
    if index.type.lanes == 1:
        return f.load(f.offset(place, offsets), FLOAT)
    every = f.constant(True, index.type.with_element("i1"))
    zero = f.constant(0.0, index.type.with_element("float"))
    return f.gather(place, offsets, every, zero)


def piecewise(
    f: Function, t: Value, index: Value, rows: Sequence[Sequence[float]]
) -> Value:
    """``c[0] + c[1] t + ...`` where ``c[k] = rows[k][index % 16]``."""
    result = look_up(f, index, rows[-1])
    for row in reversed(rows[:-1]):
        result = f.fma(result, t, look_up(f, index, row))
    return result


def piece_of_octaves(f: Function, x: Value) -> Value:
    """The piece of ``x > 0``: four in ``[1, 2)``, in ``[2, 4)``, and so on to 16."""
    return bits_of(f, x) >> 21


def odd_sigmoid(
    f: Function, x: Value, rows: Sequence[Sequence[float]], width: float, most: float
) -> Value:
    """An odd function that starts slightly above or below ``x`` and is 1 beyond
    ``most``, in pieces of equal width around their midpoints. The first one contains
    the difference from ``t``, so that ``t``, the larger of the two leading terms there,
    is exact. The last one starts at a number that rounds to 1.
    """
    size = f.unary("fabs", x)
    size = f.select(size > most, most, size)
    number, index = round_to_integer(f, size, 1 / width)
    t = f.fma(number, -width, size)
    start = f.maximum(look_up(f, index, rows[0]), t)
    return f.copysign(f.fma(t, piecewise(f, t, index, rows[1:]), start), x)
