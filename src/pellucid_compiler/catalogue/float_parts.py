"""Ops on the bits of floating-point numbers: frexp, nextafter."""

from pellucid_compiler.declare import (
    NAN,
    bitand,
    bitcast,
    cast,
    common_dtype,
    declared_dtype,
    is_finite,
    isinf,
    isnan,
    loop,
    map_elements,
    pointwise,
    require,
    shift_left,
    shift_right,
    to,
    where,
    with_partials,
)
from pellucid_compiler.ir.dtypes import wide_dtype

# (integers of the same width, bits of the fraction, bias of the exponent)
_LAYOUTS = {"float32": ("int32", 23, 127), "float64": ("int64", 52, 1023)}
# Bits of the fraction of a float32 that are 0 for a half-precision number.
_UNUSED_BITS = {"bfloat16": 16, "float16": 13}
_SMALLEST = {
    "float64": 2.0**-1074,
    "float32": 2.0**-149,
    "bfloat16": 2.0**-133,
    "float16": 2.0**-24,
}


@pointwise(
    "frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)",
    inplace=False,
    out="Tensor_out",
    rare=True,
)
def frexp(number):
    """The numbers m and e with ``x = m 2 ** e`` and ``1/2 <= |m| < 1``; (x, 0) for 0,
    infinities and NaN.
    """
    require(
        declared_dtype(number) in _SMALLEST,
        f"frexp() only supports floating-point dtypes, not {number.dtype}: convert "
        "with .float()",
    )
    x = cast(number, wide_dtype(number.dtype))
    integer, fraction, bias = _LAYOUTS[x.dtype]
    is_small = abs(x) < 2.0 ** (1 - bias)
    normal = where(is_small, x * 2.0**fraction, x)
    field = bitand(shift_right(bitcast(normal, integer), fraction), 2 * bias + 1)
    exponent = field - (bias - 1) - where(is_small, fraction, 0)
    is_regular = is_finite(x) & (x != 0)
    exponent = where(is_regular, exponent, 0)
    # in two steps: a single power of two may overflow
    half = shift_right(-exponent, 1)

    def power_of_two(e):
        return bitcast(shift_left(e + bias, fraction), x.dtype)

    mantissa = x * power_of_two(half) * power_of_two(-exponent - half)
    return cast(mantissa, number.dtype), cast(exponent, "int32")


@loop(
    "nextafter(Tensor self, Tensor other) -> Tensor",
    inplace=True,
    rare=True,
    tags="pointwise",
    casts_out=True,
)
def nextafter(x, y):
    """The next number after ``x`` towards ``y``; its derivative by ``x`` is 1."""
    dtype = common_dtype(x, y)
    require(
        dtype in _SMALLEST,
        f"nextafter: numbers of {dtype} are not supported: give one of "
        f"{', '.join(_SMALLEST)}",
        error=NotImplementedError,
    )

    def neighbour(a, b):
        result = _neighbour(a, b, dtype)
        return with_partials(
            result, (a, b), lambda a, b, y: (where(a == b, 0.0, 1.0), 0.0)
        )

    return map_elements(neighbour, to(x, dtype), to(y, dtype))


def _neighbour(x, y, dtype):
    wide = wide_dtype(dtype)
    a, b = cast(x, wide), cast(y, wide)
    integer, _, _ = _LAYOUTS[wide]
    unit = 1 << _UNUSED_BITS.get(dtype, 0)
    grows = (a < b) == (a > 0)
    result = bitcast(bitcast(a, integer) + where(grows, unit, -unit), wide)
    step = where(a < b, _SMALLEST[dtype], -_SMALLEST[dtype])
    if dtype == "float16":  # its subnormal numbers are normal ones of float32
        edge = 2.0**-14
        is_even = (abs(a) < edge) | ((abs(a) == edge) & ~grows)
        result = where(isinf(a), where(a > 0, 65504.0, -65504.0), result)
        result = where(is_even, a + step, result)
        result = where(result == 0, a * 0, result)  # with a's sign
    result = where(a == 0, step, where(a == b, b, result))
    result = where((a == 0) & (b == 0), b, result)
    return cast(where(isnan(a) | isnan(b), NAN, result), dtype)
