"""``finfo`` and ``iinfo``: limits of the dtypes."""

from __future__ import annotations

from pellucid import _C

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

# (bits, mantissa bits, smallest normal exponent, largest exponent, digits)
_FLOATS = {
    _C.float16: (16, 10, -14, 15, 3),
    _C.bfloat16: (16, 7, -126, 127, 2),
    _C.float32: (32, 23, -126, 127, 6),
    _C.float64: (64, 52, -1022, 1023, 15),
}
# Of dtypes that give some or all codes of the largest exponent to numbers: the largest.
_EIGHT_BITS = {
    _C.float8_e4m3fn: (8, 3, -6, 448.0, 0),
    _C.float8_e4m3fnuz: (8, 3, -7, 240.0, 0),
    _C.float8_e5m2: (8, 2, -14, 57344.0, 0),
    _C.float8_e5m2fnuz: (8, 2, -15, 57344.0, 0),
    _C.float8_e8m0fnu: (8, 0, -127, 2.0**127, 0),
}
_INTEGERS = {
    _C.uint8: (8, False),
    _C.uint16: (16, False),
    _C.uint32: (32, False),
    _C.uint64: (64, False),
    _C.int8: (8, True),
    _C.int16: (16, True),
    _C.int32: (32, True),
    _C.int64: (64, True),
}


class finfo:
    """Limits of a floating point dtype; of a complex one, of its parts."""

    def __init__(self, type: Any = None) -> None:
        given = _C.get_default_dtype() if type is None else type
        real = given.to_real() if isinstance(given, _C.dtype) else given
        if real in _EIGHT_BITS:
            self.bits, mantissa, low, self.max, digits = _EIGHT_BITS[real]
        elif real in _FLOATS:
            self.bits, mantissa, low, high, digits = _FLOATS[real]
            self.max = (2.0 - 2.0**-mantissa) * 2.0**high
        else:
            raise TypeError(
                f"finfo() needs a floating point dtype, not {given}; "
                "use iinfo() for integers"
            )
        self.eps = 2.0**-mantissa
        self.min = -self.max if real.is_signed else 2.0**low
        self.smallest_normal = self.tiny = 2.0**low
        self.resolution = 10.0**-digits
        self.dtype = repr(real).removeprefix("torch.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        names = ("resolution", "min", "max", "eps", "smallest_normal", "tiny")
        fields = ", ".join(f"{name}={getattr(self, name):g}" for name in names)
        return f"finfo({fields}, dtype={self.dtype})"


class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, type: Any) -> None:
        if type not in _INTEGERS:
            raise TypeError(
                f"iinfo() needs an integer dtype, not {type}; "
                "use finfo() for floating point"
            )
        self.bits, signed = _INTEGERS[type]
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.max = 2 ** (self.bits - signed) - 1
        self.dtype = repr(type).removeprefix("torch.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
