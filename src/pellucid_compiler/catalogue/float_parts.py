"""Floating-point numbers by their bits: fraction and exponent."""

from pellucid_compiler.declare import (
    bitand,
    bitcast,
    cast,
    declared_dtype,
    is_finite,
    pointwise,
    require,
    shift_left,
    shift_right,
    where,
)
from pellucid_compiler.ir.dtypes import is_float

# (integers as wide, bits of the fraction, bias of the exponent)
_LAYOUTS = {"float32": ("int32", 23, 127), "float64": ("int64", 52, 1023)}


def _layout(name, x):
    dtype = declared_dtype(x)
    require(
        dtype in _LAYOUTS,
        f"{name}: numbers of {dtype} are not offered: give float32 or float64",
        error=NotImplementedError if is_float(dtype) else RuntimeError,
    )
    return _LAYOUTS[dtype]


@pointwise(
    "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    inplace=False,
    out="Tensor_out",
    rare=True,
)
def frexp(x):
    """m and e with ``x = m 2 ** e`` and ``1/2 <= |m| < 1``; (x, 0) for 0, infinities
    and NaN.
    """
    integer, fraction, bias = _layout("frexp", x)
    is_small = abs(x) < 2.0 ** (1 - bias)
    normal = where(is_small, x * 2.0**fraction, x)
    field = bitand(shift_right(bitcast(normal, integer), fraction), 2 * bias + 1)
    exponent = field - (bias - 1) - where(is_small, fraction, 0)
    apart = is_finite(x) & (x != 0)
    exponent = where(apart, exponent, 0)
    # in two steps: a power of two alone may overflow
    half = shift_right(-exponent, 1)

    def power_of_two(e):
        return bitcast(shift_left(e + bias, fraction), x.dtype)

    mantissa = x * power_of_two(half) * power_of_two(-exponent - half)
    return mantissa, cast(exponent, "int32")
