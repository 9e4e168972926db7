"""8-bit floats: the numbers they represent, and rounding to them.

Four forms (``abi/dtypes.py``): infinities and NaN use the codes of the largest
exponent; a single NaN code, where overflow becomes the largest number; a single NaN
code in place of -0; powers of two without a sign. All round to nearest, ties to even.
Kernels do the same with bits (``codegen/float8.py``), C++ in runtime/core/float8.h.
Called by ``dtypes.py`` and ``evaluate.py``.
"""

from __future__ import annotations

import functools
import math
from typing import Any, Final

from pellucid_compiler.abi.dtypes import (
    BY_NAME,
    INFINITE,
    POWER,
    SATURATING,
    UNSIGNED_ZERO,
    DType,
)

FLOAT8: Final = tuple(row.name for row in BY_NAME.values() if row.form)


@functools.cache
def numbers(dtype: str) -> tuple[float, ...]:
    """The number of each of the 256 codes."""
    return tuple(_number(BY_NAME[dtype], code) for code in range(256))


def _number(row: DType, code: int) -> float:
    if row.form == POWER:
        return math.nan if code == 255 else math.ldexp(1.0, code - 127)
    if row.form == UNSIGNED_ZERO and code == 0x80:
        return math.nan
    sign, magnitude = (-1.0 if code & 0x80 else 1.0), code & 0x7F
    exponent, mantissa = magnitude >> row.mantissa, magnitude % (1 << row.mantissa)
    if exponent:
        mantissa += 1 << row.mantissa
    value = math.ldexp(mantissa, max(exponent, 1) - row.bias - row.mantissa)
    if value <= row.largest:
        return math.copysign(value, sign)
    is_infinite = row.form == INFINITE and magnitude == 0x7C
    return math.copysign(math.inf, sign) if is_infinite else math.nan


def code_of(value: float, dtype: str) -> int:
    """The code of a representable number; for NaN the one PyTorch writes."""
    if math.isnan(value):
        form = BY_NAME[dtype].form
        return {UNSIGNED_ZERO: 0x80, POWER: 0xFF}.get(form, 0x7F)
    found = (k for k, x in enumerate(numbers(dtype)) if x == value)
    code = next(found)
    return code | 0x80 if code == 0 and math.copysign(1.0, value) < 0 else code


def round_number(value: float, dtype: str) -> float:
    """The number of ``dtype`` nearest to a float32 number."""
    row = BY_NAME[dtype]
    if not math.isfinite(value):
        return _beyond(row, value)
    fraction, exponent = math.frexp(abs(value))
    if row.form == POWER:
        return _power(fraction, exponent)
    step = math.ldexp(1.0, max(exponent, _least(row)) - 1 - row.mantissa)
    rounded = round(abs(value) / step) * step
    if rounded > row.largest:
        return _beyond(row, math.copysign(math.inf, value))
    if row.form == UNSIGNED_ZERO and not rounded:
        return 0.0
    return math.copysign(rounded, value)


def _least(row: DType) -> int:
    """The exponent, as of frexp, below which the spacing is constant."""
    return 2 - row.bias


def _beyond(row: DType, value: float) -> float:
    if row.form == INFINITE or (row.form == SATURATING and math.isnan(value)):
        return value
    return math.copysign(row.largest, value) if row.form == SATURATING else math.nan


def _power(fraction: float, exponent: int) -> float:
    """A power of two from 2**-127 on. Ties round up; between the lowest two, down."""
    if not fraction or exponent < -126:
        return math.ldexp(1.0, -127)
    up = fraction > 0.5 if exponent == -126 else fraction >= 0.75
    rounded = exponent - 1 + up
    return math.ldexp(1.0, rounded) if rounded < 128 else math.nan


def round_array(np: Any, x: Any, dtype: str) -> Any:
    """``round_number`` of every element of a float32 array."""
    row = BY_NAME[dtype]
    x = np.asarray(x, "float32").astype("float64")
    with np.errstate(all="ignore"):
        if row.form == POWER:
            return _power_array(np, x)
        _, exponent = np.frexp(np.abs(x))
        least = np.maximum(exponent, _least(row))
        step = np.ldexp(1.0, (least - 1 - row.mantissa).astype("int32"))
        rounded = np.rint(np.abs(x) / step) * step
    top = {INFINITE: np.inf, SATURATING: row.largest}.get(row.form, np.nan)
    rounded = np.where(rounded > row.largest, top, rounded)
    rounded = np.where(np.isfinite(x), np.copysign(rounded, x), np.copysign(top, x))
    if row.form == UNSIGNED_ZERO:
        rounded = np.where(rounded == 0, 0.0, rounded)
    return np.where(np.isnan(x), np.nan, rounded).astype("float32")


def _power_array(np: Any, x: Any) -> Any:
    fraction, exponent = np.frexp(np.abs(x))
    up = np.where(exponent == -126, fraction > 0.5, fraction >= 0.75)
    rounded = np.where(exponent < -126, -127, exponent - 1 + up)
    found = np.ldexp(1.0, np.minimum(rounded, 127).astype("int32"))
    found = np.where(x == 0, 2.0**-127, found)
    return np.where(np.isfinite(x) & (rounded < 128), found, np.nan).astype("float32")
