"""The dtypes: one row each, and PyTorch's promotion among them.

``headers.py`` writes runtime/abi/dtypes.h from the rows, with both promotion tables;
``ir/dtypes.py`` adds the weak dtypes of Python numbers. A dtype's code is its index
here. Files and keys store it in 8 bits, so a new row, which is added after the rows of
its sort (with values, or opaque), changes the file format. A new dtype is a row, and
what no row can express: conversions (runtime/kernels/conversion.cpp) and how kernels
load and store it (codegen/formats.py).
"""

from __future__ import annotations

import functools
import math
from typing import Final, NamedTuple

BOOL, INTEGRAL, FLOATING, COMPLEX, OPAQUE = range(5)
CATEGORIES: Final = ("Bool", "Integral", "Floating", "Complex", "Opaque")
REFUSED: Final = 255
"""In the promotion tables: the two dtypes have no common one."""
MOST_DTYPES: Final = 253
"""8-bit codes, minus those that keys use for arguments without a tensor."""

# DLPack's type codes; 255: none.
_DL_INT, _DL_UINT, _DL_FLOAT, _DL_BFLOAT, _DL_COMPLEX, _DL_BOOL = 0, 1, 2, 4, 5, 6
_DL_NONE: Final = 255
# The codes of 8-bit floats are not contiguous with these.
_DL_E4M3FN, _DL_E4M3FNUZ, _DL_E5M2, _DL_E5M2FNUZ, _DL_E8M0 = 10, 11, 12, 13, 14

# What happens beyond an 8-bit float's range, and what its special codes mean.
FORMS: Final = ("Infinite", "Saturating", "UnsignedZero", "Power")
INFINITE, SATURATING, UNSIGNED_ZERO, POWER = FORMS


class DType(NamedTuple):
    """The facts of a dtype. ``size``: bytes per element; ``word``: as in
    torch.ByteTensor; ``element``: the C++ type, empty for an *opaque* dtype, whose
    elements are stored, viewed and copied, but have no value; ``formats``: letters of
    the struct module and the buffer protocol, the one written first; ``shown``: the C++
    name in PyTorch's messages. Floats have ``mantissa`` bits and exponents up to
    ``exponent``; ``bias``: of the encoded exponent, if it differs from ``exponent``;
    ``form``: of 8-bit floats. ``computed``: the dtype of arithmetic, if it is another
    one; ``parts``: of a complex dtype; ``pair``: the complex dtype of the same
    precision.

    ``joins``: the categories, other than its own, with whose dtypes it has a common
    one. ``offers``: the scalar ops that compute in it, as in PyTorch; None: all. Ops
    that move elements or compare them for equality accept every dtype.
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
    form: str = ""
    computed: str = ""
    parts: str = ""
    pair: str = ""
    joins: tuple[int, ...] = (BOOL, INTEGRAL, FLOATING, COMPLEX)
    offers: tuple[str, ...] | None = None

    @property
    def opaque(self) -> bool:
        """Whether elements have no value: they are only stored, viewed and copied."""
        return not self.element

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest value of an integer dtype."""
        bits = 8 * self.size - self.signed
        return (-(1 << bits) if self.signed else 0), (1 << bits) - 1

    @property
    def largest(self) -> float:
        """The largest finite number of a float dtype."""
        unused = 2 if self.form == SATURATING else 1  # its last code is NaN
        return (2 - unused * 2.0**-self.mantissa) * 2.0**self.exponent

    @property
    def smallest_normal(self) -> float:
        """The smallest positive normal number of a float dtype."""
        least = 0 if self.form == POWER else 1
        return 2.0 ** (least - (self.bias or self.exponent))

    @property
    def digits(self) -> int:
        """How many decimal digits a float dtype represents exactly."""
        return int(self.mantissa * math.log10(2))


_WHOLE_OFFERS: Final = ("mul", "bitand", "bitor", "bitxor")
_HALF_OFFERS: Final = (
    "add", "sub", "mul", "neg", "abs", "conj", "real", "imag", "complex"
)  # fmt: skip


def _whole(
    name: str, symbol: str, size: int, letters: tuple[str, ...], shown: str
) -> DType:
    """A wide unsigned dtype."""
    return DType(
        name, symbol, INTEGRAL, size, symbol, f"{name}_t", letters, _DL_UINT, shown,
        signed=False, joins=(FLOATING,), offers=_WHOLE_OFFERS,
    )  # fmt: skip


def _eighth(
    name: str, form: str, mantissa: int, exponent: int, bias: int, code: int
) -> DType:
    """An 8-bit float, which is a storage format."""
    word = name.capitalize()
    element = f"Float8<{mantissa}, {bias}, Float8Form::{form}>"
    return DType(
        name, word.replace("_", ""), FLOATING, 1, word, element, (), code,
        f"c10::{word}", form != POWER, mantissa, exponent, bias, form, "float32",
        joins=(), offers=("mul", "abs"),
    )  # fmt: skip


def _opaque(
    name: str, word: str, category: int = OPAQUE, size: int = 1, *, signed: bool = True
) -> DType:
    """A dtype without arithmetic or conversions, whose elements Python cannot read."""
    joins = (FLOATING,) if category == INTEGRAL and not signed else ()
    shown = f"c10::{word.rpartition('.')[2]}"
    return DType(
        name, word, category, size, word, "", (), _DL_NONE, shown, signed,
        joins=joins, offers=(),
    )  # fmt: skip


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
          "c10::Half", mantissa=10, exponent=15, computed="float32",
          pair="complex32"),
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
    _whole("uint16", "UInt16", 2, ("H",), "unsigned short"),
    _whole("uint32", "UInt32", 4, ("I",), "unsigned int"),
    _whole("uint64", "UInt64", 8, ("L", "Q"), "unsigned long"),
    DType("complex32", "Complex32", COMPLEX, 4, "ComplexHalf", "ComplexOf<Half>", (),
          _DL_COMPLEX, "c10::complex<c10::Half>", computed="complex64",
          parts="float16", offers=_HALF_OFFERS),
    _eighth("float8_e4m3fn", SATURATING, 3, 8, 7, _DL_E4M3FN),
    _eighth("float8_e4m3fnuz", UNSIGNED_ZERO, 3, 7, 8, _DL_E4M3FNUZ),
    _eighth("float8_e5m2", INFINITE, 2, 15, 15, _DL_E5M2),
    _eighth("float8_e5m2fnuz", UNSIGNED_ZERO, 2, 15, 16, _DL_E5M2FNUZ),
    _eighth("float8_e8m0fnu", POWER, 0, 127, 127, _DL_E8M0),
    _opaque("float4_e2m1fn_x2", "Float4_e2m1fn_x2", FLOATING),
    *(_opaque(f"uint{k}", f"UInt{k}", INTEGRAL, signed=False) for k in range(1, 8)),
    *(_opaque(f"int{k}", f"Int{k}", INTEGRAL) for k in range(1, 8)),
    _opaque("bits1x8", "Bits1x8"),
    _opaque("bits2x4", "Bits2x4"),
    _opaque("bits4x2", "Bits4x2"),
    _opaque("bits8", "Bits8"),
    _opaque("bits16", "Bits16", size=2),
    _opaque("qint8", "quantized.QInt8"),
    _opaque("quint8", "quantized.QUInt8"),
    _opaque("qint32", "quantized.QInt32", size=4),
    _opaque("quint4x2", "quantized.QUInt4x2"),
    _opaque("quint2x4", "quantized.QUInt2x4"),
)
# fmt: on
BY_NAME: Final = {row.name: row for row in DTYPES}
CODES: Final = {row.name: code for code, row in enumerate(DTYPES)}
assert len(DTYPES) <= MOST_DTYPES

# fmt: off
NUMBERS: Final = {name: number for number, name in enumerate((
    "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64",
    "complex32", "complex64", "complex128", "bool", "qint8", "quint8", "qint32",
    "bfloat16", "quint4x2", "quint2x4", "bits1x8", "bits2x4", "bits4x2", "bits8",
    "bits16", "float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz",
    "uint16", "uint32", "uint64", *(f"uint{k}" for k in range(1, 8)),
    *(f"int{k}" for k in range(1, 8)), "float8_e8m0fnu", "float4_e2m1fn_x2",
))}
# fmt: on
"""PyTorch's numbers of the dtypes, which schemas use."""
assert NUMBERS.keys() == CODES.keys()
ALIASES: Final = {
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
    "bit": "uint1",
}
"""PyTorch's other names of dtypes."""


def complex_of(name: str) -> str:
    """The smallest complex dtype whose parts represent every value of ``name``."""
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
def promote(first: str, second: str) -> str | None:
    """The common dtype of two operands of the same rank (symmetric): that of the higher
    category, or within one category the smallest that represents both. None: there is
    none.
    """
    low, high = sorted((BY_NAME[first], BY_NAME[second]), key=lambda r: r.category)
    if low == high:
        return first
    if high.category not in low.joins or low.category not in high.joins:
        return None
    if low.category == FLOATING and high.category == COMPLEX:
        low = BY_NAME[complex_of(low.name)]
    if low.category != high.category:
        return high.name
    same = (r for r in DTYPES if r.category == high.category and BOOL in r.joins)
    fitting = (row for row in same if _holds(row, low) and _holds(row, high))
    return min(fitting, key=lambda row: row.size).name


REFUSALS: Final = (
    "opaque dtypes",
    "uint16, uint32, uint64 types",
    "Float8 Types",
    "opaque dtypes",
)
"""What PyTorch calls dtypes without a common one, by ``refusal_rank``."""
REFUSED_PROMOTION: Final = (
    "Promotion for %s is not supported, attempted to promote %s and %s; "
    "convert one with .to()"
)


def refusal_rank(row: DType) -> int:
    """Of two dtypes without a common one, the higher rank decides what is refused."""
    if row.category == OPAQUE:
        return 3
    if row.form:
        return 2
    return int(row.category == INTEGRAL and row.joins == (FLOATING,))


def refusal(first: str, second: str) -> str:
    """The message about two dtypes without a common one."""
    rows = BY_NAME[first], BY_NAME[second]
    kind = REFUSALS[max(map(refusal_rank, rows))]
    return REFUSED_PROMOTION % (kind, rows[0].word, rows[1].word)


def raise_category(deciding: str, other: str) -> str | None:
    """The common dtype if ``other`` counts only by its category: a number with tensors,
    or a 0-d tensor with tensors that have dims. None: there is none.
    """
    row, raising = BY_NAME[deciding], BY_NAME[other]
    if raising.category <= row.category:
        return deciding
    if not row.joins or row.category not in raising.joins:
        return None
    return complex_of(deciding) if row.category == FLOATING else other
