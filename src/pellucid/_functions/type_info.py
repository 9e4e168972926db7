"""``finfo`` and ``iinfo``: limits of the dtypes."""

from __future__ import annotations

from pellucid import _C

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any


def _row_of(dtype: Any) -> Any:
    """The row of ``dtype`` in the table of dtypes, of its integers if it is quantized;
    None if it is not a dtype.
    """
    # Imported at first use: importing the table is slow.
    from pellucid_compiler.abi.dtypes import BY_NAME

    if not isinstance(dtype, _C.dtype):
        return None
    name = repr(dtype).removeprefix("torch.")
    row = BY_NAME[name]
    row = BY_NAME.get(name.removeprefix("q"), row)
    return row if not row.parts else BY_NAME[row.parts]


class finfo:
    """Limits of a floating point dtype; of a complex one, of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    tiny: float
    dtype: str

    def __init__(self, type: Any = None) -> None:
        given = _C.get_default_dtype() if type is None else type
        row = _row_of(given)
        if row is None or not row.exponent:
            raise TypeError(
                f"finfo() needs a floating point dtype, not {given}; "
                "use iinfo() for integers"
            )
        self.bits = 8 * row.size
        self.eps = 2.0**-row.mantissa
        self.smallest_normal = self.tiny = row.smallest_normal
        self.max = row.largest
        self.min = -self.max if row.signed else self.smallest_normal
        self.resolution = 10.0**-row.digits
        self.dtype = row.name

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

    bits: int
    max: int
    min: int
    dtype: str

    def __init__(self, type: Any) -> None:
        from pellucid_compiler.abi.dtypes import INTEGRAL

        row = _row_of(type)
        if row is None or row.category != INTEGRAL or row.opaque:
            raise TypeError(
                f"iinfo() needs an integer dtype, not {type}; "
                "use finfo() for floating point"
            )
        self.bits = 8 * row.size
        self.min, self.max = row.range
        self.dtype = row.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
