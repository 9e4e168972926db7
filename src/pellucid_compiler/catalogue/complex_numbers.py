"""Construction of complex numbers, and their parts.

Arithmetic and elementary functions of complex tensors are the same ops as of real ones:
see ``ir/complex_functions.py``.
"""

from pellucid_compiler.declare import (
    PI,
    atan2,
    complex_of,
    conj,
    cos,
    imag,
    isnan,
    loop,
    pointwise,
    real,
    require,
    sin,
    tabulate,
    where,
)

_PARTS = ("float32", "float64")
_HALF_PARTS = ("float16", *_PARTS)


def _require_parts(name, first, second, dtypes=_PARTS):
    require(
        first.dtype in dtypes,
        f"{name} takes {' or '.join(dtypes)} tensors, not {first.dtype}",
    )
    require(
        first.dtype == second.dtype,
        f"{name} takes tensors of one dtype, not of {first.dtype} and {second.dtype}",
    )


@pointwise(
    "complex(Tensor real, Tensor imag) -> Tensor",
    unpromoted=("real", "imag"),
    inplace=False,
    method=False,
    casts_out=False,
)
def complex_op(x, y):
    """``x + i y``."""
    _require_parts("complex", x, y, _HALF_PARTS)
    return complex_of(x, y)


@pointwise(
    "polar(Tensor abs, Tensor angle) -> Tensor",
    refuses=("float16",),
    unpromoted=("abs", "angle"),
    inplace=False,
    method=False,
    autocast="float32",
    casts_out=False,
)
def polar(size, angle):
    """``size e^(i angle)``."""
    _require_parts("polar", size, angle)
    return complex_of(size * cos(angle), size * sin(angle))


@pointwise(
    "_conj_physical(Tensor self) -> Tensor",
    node="ConjPhysicalBackward0",
    inplace=False,
)
def conj_physical(x):
    """The number with the opposite imaginary part."""
    return conj(x)


@pointwise("angle(Tensor self) -> Tensor", int_to_float=True, inplace=False)
def angle(x):
    """The argument of a complex number; of a real one 0 or pi."""
    if x.dtype.startswith("complex"):
        return atan2(imag(x), real(x))
    return where(isnan(x), x, where(x < 0, PI, 0.0))


@loop("view_as_real_copy(Tensor self) -> Tensor", method=False, tags="view_copy")
def view_as_real_copy(x):
    """Real and imaginary parts along a last dimension."""
    require(
        x.dtype.startswith("complex"),
        f"view_as_real_copy takes a complex tensor, not one of {x.dtype}",
    )

    def part(*place):
        *point, k = place
        return where(k == 0, real(x[point]), imag(x[point]))

    return tabulate([*x.shape, 2], part)


@loop("view_as_complex_copy(Tensor self) -> Tensor", method=False, tags="view_copy")
def view_as_complex_copy(x):
    """Pairs along the last dimension as complex numbers."""
    require(
        x.dtype in _HALF_PARTS and x.rank > 0,
        f"view_as_complex_copy takes pairs of {' or '.join(_HALF_PARTS)}, not "
        f"{x.dtype}",
    )
    require(x.shape[-1] == 2, "the last dimension has size {}, not 2", x.shape[-1])
    return tabulate(x.shape[:-1], lambda *p: complex_of(x[[*p, 0]], x[[*p, 1]]))
