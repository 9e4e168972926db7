"""The dtypes of the IR: their names, categories, promotion, and Python values in them.

``ir`` refers to dtypes by name; ``abi/dtypes.py`` has a row for each. There are three
more, the *weak* dtypes ``weakint``, ``weakfloat`` and ``weakcomplex`` of Python
numbers, whose category counts in promotion but whose precision does not. ``float16``,
``bfloat16``, ``complex32`` and the 8-bit floats are storage formats: arithmetic on them
is arithmetic in float32 or complex64 (see ``arithmetic_dtype``), rounded by an explicit
cast.

This module needs no NumPy, so that tracing does not import it. Read next: expr.py.
"""

from __future__ import annotations

import functools
import math
import struct
from typing import Final

from pellucid_compiler.abi.dtypes import (
    BY_NAME,
    COMPLEX,
    FLOATING,
    INTEGRAL,
    complex_of,
    refusal,
)
from pellucid_compiler.abi.dtypes import promote as promote_dtypes
from pellucid_compiler.ir.float8 import FLOAT8, code_of, round_number

WEAK: Final = ("weakint", "weakfloat", "weakcomplex")
DTYPES: Final = tuple(BY_NAME)
ITEMSIZE: Final = {row.name: row.size for row in BY_NAME.values()}
_CATEGORY: Final = {row.name: row.category for row in BY_NAME.values()} | {
    "weakint": INTEGRAL,
    "weakfloat": FLOATING,
    "weakcomplex": COMPLEX,
}
# The dtypes in which a weak value is stored, if nothing stronger decides, and computed.
_STORED: Final = {
    "weakint": "int64",
    "weakfloat": "float32",
    "weakcomplex": "complex64",
}
_COMPUTED: Final = {
    "weakint": "int64",
    "weakfloat": "float64",
    "weakcomplex": "complex128",
    **{row.name: row.computed for row in BY_NAME.values() if row.computed},
}
_OPAQUE: Final = frozenset(row.name for row in BY_NAME.values() if row.opaque)
HALF: Final = tuple(row.name for row in BY_NAME.values() if row.computed)
_REAL: Final = {
    "weakcomplex": "weakfloat",
    **{row.name: row.parts for row in BY_NAME.values() if row.parts},
}
_COMPLEX: Final = {
    "weakfloat": "weakcomplex",
    **{
        row.name: complex_of(row.name)
        for row in BY_NAME.values()
        if row.category == FLOATING and not row.opaque
    },
}
_INTEGER_BITS: Final = {
    "weakint": 64,
    **{r.name: 8 * r.size for r in BY_NAME.values() if r.category == INTEGRAL},
}


def is_complex(dtype: str) -> bool:
    return _CATEGORY[dtype] == COMPLEX


def is_real_float(dtype: str) -> bool:
    return _CATEGORY[dtype] == FLOATING


def is_float(dtype: str) -> bool:
    """Floating point, real or complex: the dtypes that carry derivatives."""
    return _CATEGORY[dtype] in (FLOATING, COMPLEX)


def is_integer(dtype: str) -> bool:
    return _CATEGORY[dtype] == INTEGRAL


def is_signed(dtype: str) -> bool:
    """Whether an integer or float dtype has negative numbers."""
    return BY_NAME[stored_dtype(dtype)].signed


def is_weak(dtype: str) -> bool:
    return dtype in _STORED


def shown_dtype(dtype: str) -> str:
    """The name in PyTorch's messages: that of the element's C++ type."""
    return BY_NAME[stored_dtype(dtype)].shown


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
    """The dtype in which a storage format is computed, else ``dtype`` itself."""
    return _COMPUTED[dtype] if dtype in HALF else dtype


@functools.cache
def promote(first: str, second: str) -> str:
    """The common dtype of two operands, as PyTorch's ``promote_types`` (symmetric).

    A weak dtype yields to any strong one of its category or a higher one.
    """
    if first == second:
        return first
    if not is_weak(first) and not is_weak(second):
        common = promote_dtypes(first, second)
        if common is None:
            raise RuntimeError(refusal(first, second))
        return common
    low, high = sorted((first, second), key=lambda dtype: _CATEGORY[dtype])
    if _CATEGORY[low] == _CATEGORY[high]:
        return high if is_weak(low) else low
    if is_complex(high) and is_real_float(low) and not is_weak(low):
        return complex_dtype(low)
    return high


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
    if dtype in _OPAQUE:
        word = BY_NAME[dtype].word.rpartition(".")[2]
        raise NotImplementedError(
            f"\"fill\" not implemented for '{word}': its elements have no value; view "
            "them as another dtype"
        )
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
    if dtype in ("float64", "weakfloat"):
        return value
    if not math.isfinite(value):
        return round_number(value, dtype) if dtype in FLOAT8 else value
    if dtype == "bfloat16":
        (bits,) = struct.unpack("<I", struct.pack("<f", _round_float(value, "float32")))
        bits += 0x7FFF + (bits >> 16 & 1)
        (rounded,) = struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))
        return float(rounded)
    if dtype in FLOAT8:
        return round_number(_round_float(value, "float32"), dtype)
    code = "<e" if dtype == "float16" else "<f"
    try:
        (rounded,) = struct.unpack(code, struct.pack(code, value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(rounded)


def _to_integer(value: float, dtype: str) -> int:
    """Out-of-range floats become the lowest integer of the conversion, as on x86."""
    if isinstance(value, float) and dtype == "uint64" and value >= 2.0**63:
        value = int(value) if value < 2.0**64 else 0
    if isinstance(value, float):
        width = 64 if dtype == "uint32" or _INTEGER_BITS.get(dtype, 8) == 64 else 32
        low = -(1 << (width - 1))
        value = int(value) if math.isfinite(value) else low
        if not low <= value < -low:
            value = low
    bits = _INTEGER_BITS[dtype]
    value = int(value) & ((1 << bits) - 1)
    is_negative = value >> (bits - 1) and is_signed(dtype)
    return value - (1 << bits) if is_negative else value


def number_bits(value: bool | complex, dtype: str) -> int:
    """The bits of a number of ``dtype``, as the signed integer of its size; of one-byte
    dtypes as an unsigned one.
    """
    number = python_value(value, dtype)
    if dtype in FLOAT8:
        return code_of(float(number.real), dtype)
    if dtype == "complex32":
        parts = (number_bits(x, "float16") & 0xFFFF for x in (number.real, number.imag))
        low, high = parts
        return _signed(high << 16 | low, 32)
    if dtype == "bfloat16":
        (bits,) = struct.unpack("<I", struct.pack("<f", number.real))
        return _signed(bits >> 16, 16)
    if dtype == "float16":
        (half,) = struct.unpack("<h", struct.pack("<e", number.real))
        return int(half)
    bits = 8 * ITEMSIZE[dtype]
    return int(number.real) if bits == 8 else _signed(int(number.real), bits)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def largest_number(dtype: str) -> float:
    """The largest finite number of a float dtype."""
    return BY_NAME[dtype].largest


def lowest(dtype: str) -> bool | int | float:
    """The lowest value of ``dtype``: the identity of a maximum."""
    if dtype == "bool":
        return False
    if is_integer(dtype):
        return BY_NAME[stored_dtype(dtype)].range[0]
    return -math.inf


def highest(dtype: str) -> bool | int | float:
    """The highest value of ``dtype``: the identity of a minimum."""
    if dtype == "bool":
        return True
    if is_integer(dtype):
        return BY_NAME[stored_dtype(dtype)].range[1]
    return math.inf
