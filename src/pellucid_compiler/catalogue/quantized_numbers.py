"""Rounding to integers with a scale, and what follows an integer product: quantized
tensors are computed with these (``pellucid/ao/_quantized``).
"""

from pellucid_compiler.declare import (
    cast,
    loop,
    maximum,
    minimum,
    pointwise,
    require,
    round_even,
    tabulate,
    to,
)
from pellucid_compiler.ir.dtypes import is_float

_HIDDEN = {"method": False, "out": False}


# The least and the greatest integer.
_LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1)}


@pointwise(
    "pellucid::_quantize(Tensor self, Tensor inverse, Tensor zero_points, "
    "bool rounds_first, ScalarType dtype) -> Tensor",
    unpromoted=("zero_points",),
    inplace=False,
    **_HIDDEN,
)
def _quantize(x, inverse, zero_points, rounds_first, dtype):
    """The nearest integers to ``self * inverse + zero_points``, ties to even. Integer
    zero points are added to the exact product, or, if ``rounds_first``, to the rounded
    one.
    """
    _require_integers("_quantize", dtype)
    least, most = _LIMITS[dtype]
    if rounds_first:
        places = round_even(x * inverse) + to(zero_points, x.dtype)
    elif is_float(zero_points.dtype):
        places = x * inverse + to(zero_points, x.dtype)
    else:
        exact = to(x, "float64") * to(inverse, "float64")
        places = to(exact + to(zero_points, "float64"), x.dtype)
    if dtype == "int32":
        places = to(places, "float64")
    return to(minimum(maximum(round_even(places), least), most), dtype)


def _number(sums, totals, offset, i, j):
    """An integer sum whose inputs' zero point is corrected, as float32."""
    return cast(sums[i, j] + totals[j] * cast(offset, "int32"), "float32")


@loop(
    "pellucid::_requantize(Tensor sums, Tensor totals, Tensor bias, Tensor units, "
    "SymInt offset, SymInt zero_point, SymInt least, ScalarType dtype) -> Tensor",
    **_HIDDEN,
)
def _requantize(sums, totals, bias, units, offset, zero_point, least, dtype):
    """``(sums + offset * totals + bias) * units``, rounded; ``zero_point`` is added and
    the result clamped to ``least`` and the greatest integer of ``dtype``.
    """
    _require_integers("_requantize", dtype)
    _require_columns("_requantize", sums, totals, units, bias)
    _, most = _LIMITS[dtype]

    def element(i, j):
        places = (_number(sums, totals, offset, i, j) + bias[j]) * units[j]
        moved = round_even(places) + cast(zero_point, "float32")
        bounded = maximum(moved, cast(least, "float32"))
        return cast(minimum(bounded, float(most)), dtype)

    return tabulate(sums.shape, element)


@loop(
    "pellucid::_scale_sums(Tensor sums, Tensor totals, Tensor units, Tensor bias, "
    "SymInt offset) -> Tensor",
    **_HIDDEN,
)
def _scale_sums(sums, totals, units, bias, offset):
    """``(sums + offset * totals) * units + bias``, float32."""
    _require_columns("_scale_sums", sums, totals, units, bias)
    return tabulate(
        sums.shape,
        lambda i, j: _number(sums, totals, offset, i, j) * units[j] + bias[j],
    )


@loop(
    "pellucid::_scale_products(Tensor sums, Tensor rows, Tensor columns, Tensor bias) "
    "-> Tensor",
    **_HIDDEN,
)
def _scale_products(sums, rows, columns, bias):
    """``sums[i, j] * rows[i] * columns[j] + bias[j]``, float32."""
    _require_columns("_scale_products", sums, columns, bias)
    require(
        (rows.rank == 1) & (rows.shape[0] == sums.shape[0]),
        "_scale_products: {} rows, but scales of shape {}",
        *(sums.shape[0], rows.shape[0]),
    )
    return tabulate(
        sums.shape,
        lambda i, j: cast(sums[i, j], "float32") * rows[i] * columns[j] + bias[j],
    )


def _require_integers(name, dtype):
    require(dtype in _LIMITS, f"{name}: dtype is int8, uint8 or int32, not {dtype}")


def _require_columns(name, sums, *columns):
    require(
        sums.rank == 2 and all(each.rank == 1 for each in columns),
        f"{name}: sums are a matrix, the others vectors of its columns",
    )
    for each in columns:
        require(
            each.shape[0] == sums.shape[1],
            f"{name}: {{}} columns, but a vector of {{}}",
            *(sums.shape[1], each.shape[0]),
        )
