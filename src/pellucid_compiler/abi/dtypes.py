"""The dtypes: one row each, and PyTorch's promotion among them.

``headers.py`` writes runtime/abi/dtypes.h from the rows, with both tables of promotion;
``ir/dtypes.py`` adds the weak dtypes of Python numbers. A dtype's code is its place
here: files and keys hold it in 8 bits, so rows are only ever appended. A new dtype is a
row, and what no row can say: conversions (runtime/kernels/conversion.cpp) and how
kernels load and store it (codegen/formats.py). The compiler names the places: a switch
over dtypes has no default.
"""

from __future__ import annotations

import functools
import math
from typing import Final, NamedTuple

BOOL, INTEGRAL, FLOATING, COMPLEX = range(4)
CATEGORIES: Final = ("Bool", "Integral", "Floating", "Complex")
MOST_DTYPES: Final = 253
"""Codes of 8 bits, less those that keys use for arguments without a tensor."""

# DLPack's codes of types.
_DL_INT, _DL_UINT, _DL_FLOAT, _DL_BFLOAT, _DL_COMPLEX, _DL_BOOL = 0, 1, 2, 4, 5, 6


class DType(NamedTuple):
    """What a dtype is. ``size``: bytes of an element; ``word``: as in torch.ByteTensor;
    ``element``: the C++ type; ``formats``: letters of the struct module and the buffer
    protocol, the written one first; ``shown``: the C++ name in messages of PyTorch.
    Floats hold ``mantissa`` bits and exponents up to ``exponent``, where ``reserved``
    codes are not finite; ``bias``: of the exponent, where it is not ``exponent``.
    ``computed``: the dtype of arithmetic, where it is another one;
    ``parts``: of a complex dtype; ``pair``: the complex dtype of the same precision.
    """

    name: str
    symbol: str
    category: int
    size: int
    word: str
    element: str
    formats: tuple[str, ...]
    dlpack: int
    shown: str
    signed: bool = True
    mantissa: int = 0
    exponent: int = 0
    bias: int = 0
    reserved: int = 0
    computed: str = ""
    parts: str = ""
    pair: str = ""

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value of an integer dtype."""
        bits = 8 * self.size - self.signed
        return (-(1 << bits) if self.signed else 0), (1 << bits) - 1

    @property
    def largest(self) -> float:
        """The greatest finite number of a float dtype."""
        return (2 - (1 + self.reserved) * 2.0**-self.mantissa) * 2.0**self.exponent

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number of full precision of a float dtype."""
        return 2.0 ** (1 - (self.bias or self.exponent))

    @property
    def digits(self) -> int:
        """How many decimal digits every number of a float dtype holds."""
        return int(self.mantissa * math.log10(2))


# fmt: off
DTYPES: Final = (
    DType("bool", "Bool", BOOL, 1, "Bool", "Boolean", ("?",), _DL_BOOL, "bool",
          signed=False),
    DType("uint8", "UInt8", INTEGRAL, 1, "Byte", "uint8_t", ("B",), _DL_UINT,
          "unsigned char", signed=False),
    DType("int8", "Int8", INTEGRAL, 1, "Char", "int8_t", ("b",), _DL_INT,
          "signed char"),
    DType("int16", "Int16", INTEGRAL, 2, "Short", "int16_t", ("h",), _DL_INT,
          "short int"),
    DType("int32", "Int32", INTEGRAL, 4, "Int", "int32_t", ("i",), _DL_INT, "int"),
    DType("int64", "Int64", INTEGRAL, 8, "Long", "int64_t", ("l", "q"), _DL_INT,
          "long int"),
    DType("float16", "Float16", FLOATING, 2, "Half", "Half", ("e",), _DL_FLOAT,
          "c10::Half", mantissa=10, exponent=15, computed="float32"),
    DType("bfloat16", "BFloat16", FLOATING, 2, "BFloat16", "BFloat", (), _DL_BFLOAT,
          "c10::BFloat16", mantissa=7, exponent=127, computed="float32",
          pair="complex64"),
    DType("float32", "Float32", FLOATING, 4, "Float", "float", ("f",), _DL_FLOAT,
          "float", mantissa=23, exponent=127, pair="complex64"),
    DType("float64", "Float64", FLOATING, 8, "Double", "double", ("d",), _DL_FLOAT,
          "double", mantissa=52, exponent=1023, pair="complex128"),
    DType("complex64", "Complex64", COMPLEX, 8, "ComplexFloat", "ComplexOf<float>",
          ("Zf",), _DL_COMPLEX, "c10::complex<float>", parts="float32"),
    DType("complex128", "Complex128", COMPLEX, 16, "ComplexDouble", "ComplexOf<double>",
          ("Zd",), _DL_COMPLEX, "c10::complex<double>", parts="float64"),
)

# Those that programs name, compare and measure, and that no tensor has: a row that
# moves to the end of DTYPES, with the C++ type of its elements, is a dtype of tensors.
NAMED: Final = (
    DType("float8_e4m3fn", "Float8E4M3FN", FLOATING, 1, "Float8_e4m3fn", "", (), 10,
          "c10::Float8_e4m3fn", mantissa=3, exponent=8, bias=7, reserved=1),
    DType("float8_e4m3fnuz", "Float8E4M3FNUZ", FLOATING, 1, "Float8_e4m3fnuz", "", (),
          11, "c10::Float8_e4m3fnuz", mantissa=3, exponent=7, bias=8),
    DType("float8_e5m2", "Float8E5M2", FLOATING, 1, "Float8_e5m2", "", (), 12,
          "c10::Float8_e5m2", mantissa=2, exponent=15),
    DType("float8_e5m2fnuz", "Float8E5M2FNUZ", FLOATING, 1, "Float8_e5m2fnuz", "", (),
          13, "c10::Float8_e5m2fnuz", mantissa=2, exponent=15, bias=16),
    DType("float8_e8m0fnu", "Float8E8M0FNU", FLOATING, 1, "Float8_e8m0fnu", "", (), 14,
          "c10::Float8_e8m0fnu", signed=False, exponent=127, bias=128),
    # Two numbers an element, which therefore has no limits.
    DType("float4_e2m1fn_x2", "Float4E2M1FNX2", FLOATING, 1, "Float4_e2m1fn_x2", "", (),
          17, "c10::Float4_e2m1fn_x2"),
    DType("uint16", "UInt16", INTEGRAL, 2, "UInt16", "", ("H",), _DL_UINT,
          "unsigned short", signed=False),
    DType("uint32", "UInt32", INTEGRAL, 4, "UInt32", "", ("I",), _DL_UINT,
          "unsigned int", signed=False),
    DType("uint64", "UInt64", INTEGRAL, 8, "UInt64", "", ("L", "Q"), _DL_UINT,
          "unsigned long", signed=False),
    DType("complex32", "ComplexHalf", COMPLEX, 4, "ComplexHalf", "", ("Ze",),
          _DL_COMPLEX, "c10::complex<c10::Half>", parts="float16"),
)
# fmt: on
BY_NAME: Final = {row.name: row for row in DTYPES}
CODES: Final = {row.name: code for code, row in enumerate(DTYPES)}
assert len(DTYPES) <= MOST_DTYPES


def complex_of(name: str) -> str:
    """The least complex dtype whose parts hold what the float dtype ``name`` does."""
    rows = [r for r in DTYPES if r.category == COMPLEX]
    fitting = (r for r in rows if _holds(BY_NAME[r.parts], BY_NAME[name]))
    return min(fitting, key=lambda row: row.size).name


def _holds(wide: DType, row: DType) -> bool:
    """Whether ``wide`` has every value of ``row``, of the same category."""
    if row.category == COMPLEX:
        return _holds(BY_NAME[wide.parts], BY_NAME[row.parts])
    if row.category == FLOATING:
        return wide.mantissa >= row.mantissa and wide.exponent >= row.exponent
    return wide.range[0] <= row.range[0] and wide.range[1] >= row.range[1]


@functools.cache
def promote(first: str, second: str) -> str:
    """The common dtype of two operands of one kind (symmetric): that of the higher
    category; of one category the least one that holds both.
    """
    low, high = sorted((BY_NAME[first], BY_NAME[second]), key=lambda r: r.category)
    if low.category == FLOATING and high.category == COMPLEX:
        low = BY_NAME[complex_of(low.name)]
    if low.category != high.category:
        return high.name
    same = (row for row in DTYPES if row.category == high.category)
    fitting = (row for row in same if _holds(row, low) and _holds(row, high))
    return min(fitting, key=lambda row: row.size).name


def raise_category(deciding: str, other: str) -> str:
    """The common dtype where ``other`` counts by its category alone: a number beside
    tensors, or a tensor without dims beside those that have some.
    """
    if BY_NAME[other].category <= BY_NAME[deciding].category:
        return deciding
    is_widened = BY_NAME[deciding].category == FLOATING
    return complex_of(deciding) if is_widened else other
