"""The dtypes of the IR: their names, categories, promotion, and Python values in them.

Everything in ``ir`` names a dtype by a string. Three of them are *weak*: ``weakint``,
``weakfloat`` and ``weakcomplex`` are Python numbers, whose category counts in promotion
but whose precision does not. ``float16`` and ``bfloat16`` are formats of storage:
arithmetic on them is arithmetic in float32 (see ``arithmetic_dtype``), rounded by an
explicit cast.

This module needs no NumPy, so that tracing does not import it. Read next: expr.py.
"""

from __future__ import annotations

import functools
import math
import struct
from typing import Final

_CATEGORY: Final = {
    "bool": 0,
    "uint8": 1,
    "int8": 1,
    "int16": 1,
    "int32": 1,
    "int64": 1,
    "weakint": 1,
    "float16": 2,
    "bfloat16": 2,
    "float32": 2,
    "float64": 2,
    "weakfloat": 2,
    "complex64": 3,
    "complex128": 3,
    "weakcomplex": 3,
}
ITEMSIZE: Final = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex64": 8,
    "complex128": 16,
}
DTYPES: Final = tuple(ITEMSIZE)
WEAK: Final = ("weakint", "weakfloat", "weakcomplex")
HALF: Final = ("float16", "bfloat16")

# What a weak value is stored as when nothing stronger decides, and what it is computed
# in.
_STORED: Final = {
    "weakint": "int64",
    "weakfloat": "float32",
    "weakcomplex": "complex64",
}
_COMPUTED: Final = {
    "weakint": "int64",
    "weakfloat": "float64",
    "weakcomplex": "complex128",
    "float16": "float32",
    "bfloat16": "float32",
}
_REAL: Final = {
    "complex64": "float32",
    "complex128": "float64",
    "weakcomplex": "weakfloat",
}
_COMPLEX: Final = {
    "float16": "complex64",
    "bfloat16": "complex64",
    "float32": "complex64",
    "float64": "complex128",
    "weakfloat": "weakcomplex",
}
_INTEGER_BITS: Final = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "weakint": 64}


def is_complex(dtype: str) -> bool:
    return _CATEGORY[dtype] == 3


def is_real_float(dtype: str) -> bool:
    return _CATEGORY[dtype] == 2


def is_float(dtype: str) -> bool:
    """Floating point, real or complex: the dtypes that carry derivatives."""
    return _CATEGORY[dtype] >= 2


def is_integer(dtype: str) -> bool:
    return _CATEGORY[dtype] == 1


def is_weak(dtype: str) -> bool:
    return dtype in _STORED


def real_dtype(dtype: str) -> str:
    """The dtype of the real part."""
    return _REAL.get(dtype, dtype)


def complex_dtype(dtype: str) -> str:
    """The complex dtype whose parts have ``dtype``."""
    return _COMPLEX.get(dtype, dtype)


def stored_dtype(dtype: str) -> str:
    """The dtype of a tensor that holds values of ``dtype``: weak dtypes take the
    default.
    """
    return _STORED.get(dtype, dtype)


def arithmetic_dtype(dtype: str) -> str:
    """The dtype in which values of ``dtype`` are computed."""
    return _COMPUTED.get(dtype, dtype)


def wide_dtype(dtype: str) -> str:
    """``float32`` for the half formats, otherwise ``dtype`` itself."""
    return "float32" if dtype in HALF else dtype


@functools.cache
def promote(first: str, second: str) -> str:
    """The common dtype of two operands, as PyTorch's ``promote_types`` (symmetric).

    A weak dtype yields to any strong one of its category or above.
    """
    if first == second:
        return first
    low, high = sorted((first, second), key=lambda dtype: _CATEGORY[dtype])
    if _CATEGORY[low] != _CATEGORY[high]:
        return _promote_across(low, high)
    if is_weak(low) or is_weak(high):
        return high if is_weak(low) else low
    if is_integer(low):
        return _promote_integers(low, high)
    if low in HALF and high in HALF:
        return "float32"
    return max(low, high, key=lambda dtype: ITEMSIZE[dtype])


def _promote_across(low: str, high: str) -> str:
    if not is_complex(high) or not is_real_float(low) or is_weak(low):
        return high
    if is_weak(high):
        return complex_dtype(low)
    return "complex128" if "float64" in (low, real_dtype(high)) else "complex64"


def _promote_integers(first: str, second: str) -> str:
    if "uint8" in (first, second):
        other = second if first == "uint8" else first
        return "int16" if other == "int8" else other
    return max(first, second, key=lambda dtype: _INTEGER_BITS[dtype])


def promote_all(*dtypes: str) -> str:
    """The common dtype of several operands."""
    return functools.reduce(promote, dtypes)


def dtype_of_number(value: bool | complex) -> str:
    """The (weak) dtype of a Python number."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "weakint"
    return "weakfloat" if isinstance(value, float) else "weakcomplex"


# ------------------------------------------------------------------ Python values


def python_value(value: bool | complex, dtype: str) -> bool | int | float | complex:
    """``value`` converted to ``dtype``, rounded or wrapped as the conversion would."""
    if dtype == "bool":
        return bool(value)
    if is_complex(dtype):
        part = real_dtype(dtype)
        z = complex(value)
        return complex(_round_float(z.real, part), _round_float(z.imag, part))
    if isinstance(value, complex):
        value = value.real
    if is_real_float(dtype):
        return _round_float(float(value), dtype)
    return _to_integer(value, dtype)


def _round_float(value: float, dtype: str) -> float:
    if dtype in ("float64", "weakfloat") or not math.isfinite(value):
        return value
    if dtype == "bfloat16":
        (bits,) = struct.unpack("<I", struct.pack("<f", _round_float(value, "float32")))
        bits += 0x7FFF + (bits >> 16 & 1)
        (rounded,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))
        return float(rounded)
    code = "<e" if dtype == "float16" else "<f"
    try:
        (rounded,) = struct.unpack(code, struct.pack(code, value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(rounded)


def _to_integer(value: float, dtype: str) -> int:
    """Out-of-range floats give the lowest integer of the conversion, as x86 does."""
    if isinstance(value, float):
        width = 64 if _INTEGER_BITS.get(dtype, 8) == 64 else 32
        low = -(1 << (width - 1))
        value = int(value) if math.isfinite(value) else low
        if not low <= value < -low:
            value = low
    if dtype == "uint8":
        return int(value) & 0xFF
    bits = _INTEGER_BITS[dtype]
    value = int(value) & ((1 << bits) - 1)
    return value - (1 << bits) if value >> (bits - 1) else value


_LARGEST: Final = {
    "float16": 65504.0,
    "bfloat16": (2 - 2.0**-7) * 2.0**127,
    "float32": (2 - 2.0**-23) * 2.0**127,
    "float64": (2 - 2.0**-52) * 2.0**1023,
}


def largest_number(dtype: str) -> float:
    """The greatest finite number of a float dtype."""
    return _LARGEST[dtype]


def lowest(dtype: str) -> bool | int | float:
    """The least value of ``dtype``: where a maximum starts."""
    if dtype == "bool":
        return False
    if is_integer(dtype):
        return 0 if dtype == "uint8" else -(1 << (_INTEGER_BITS[dtype] - 1))
    return -math.inf


def highest(dtype: str) -> bool | int | float:
    """The greatest value of ``dtype``: where a minimum starts."""
    if dtype == "bool":
        return True
    if is_integer(dtype):
        return 255 if dtype == "uint8" else (1 << (_INTEGER_BITS[dtype] - 1)) - 1
    return math.inf
