"""Selecting between elements: where, masked_fill, clamp, maximum, nan_to_num."""

from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    INF,
    cast,
    complex_of,
    declared_dtype,
    default_dtype,
    detach,
    imag,
    isnan,
    loop,
    pointwise,
    real,
    require,
    to,
    where,
)
from pellucid_compiler.declare import maximum as larger
from pellucid_compiler.declare import minimum as smaller
from pellucid_compiler.ir.dtypes import is_complex, is_float, largest_number, real_dtype


@pointwise(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    unpromoted=("condition",),
    numbers=("self", "other"),
    numbers_as_tensors=True,
    inplace=False,
    forms=(
        "where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
        "where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
        "where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
    ),
    core=True,
    casts_out=False,
)
def where_self(condition, x, y):
    """``x`` where ``condition`` else ``y``."""
    require(
        condition.dtype in ("bool", "uint8"),
        f"where: the condition has dtype {condition.dtype}; give a bool tensor",
    )
    return where(condition, x, y)


@where_self.seen_as
def _(condition, x, y):
    if isinstance(x, api.Tensor) and isinstance(y, api.Tensor):
        return NotImplemented
    dtype = api.result_type(x, y)
    x, y = (
        e if isinstance(e, api.Tensor) else api.scalar_tensor(e, dtype=dtype)
        for e in (x, y)
    )
    return api.where(condition, x, y)


@pointwise(
    "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
    unpromoted=("mask",),
    backward="masked_fill.Scalar(value=0)",
    writes_shared=True,
)
def masked_fill(x, mask, value):
    """``value`` where ``mask`` else ``x``, in the dtype of ``x``."""
    _require_mask(mask)
    return where(mask, cast(value, x.dtype), x)


@loop(
    "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
    inplace=True,
    out="Tensor_out",
    node="MaskedFillBackward1",
    writes_shared=True,
)
def masked_fill_tensor(x, mask, value):
    """``value``, a tensor of rank 0, where ``mask`` else ``x``."""
    _require_mask(mask)
    require(
        value.rank == 0,
        f"masked_fill: the value has rank {value.rank}; give a number or a tensor of "
        "rank 0",
    )
    return where(mask, to(value, x.dtype), x)


def _require_mask(mask):
    require(
        mask.dtype == "bool",
        f"masked_fill: the mask has dtype {mask.dtype}; give a bool tensor",
    )


# Overloads for tensors come first: a 0-d tensor is accepted as a number, too, but would
# be promoted differently.


def _clamped(x, min, max):
    require(
        min is not None or max is not None,
        "clamp: give min, max or both; both are None",
    )
    if min is not None:
        x = _not_below(x, min)
    return x if max is None else _not_above(x, max)


@pointwise(
    "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor",
    aliases=("clip",),
    core=True,
    inplace_function=True,
)
def clamp_tensor(x, min, max):
    """``x`` clamped to ``[min, max]``, element by element."""
    require(
        x.dtype != "bool" or min is None or max is None,
        "\"clamp\" not implemented for 'Bool': use maximum() and minimum()",
        error=NotImplementedError,
    )
    return _clamped(x, min, max)


@pointwise(
    "clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
    numbers=("min", "max"),
    node="ClampBackward1",
    aliases=("clip",),
    core=True,
    casts_out=False,
)
def clamp(x, min, max):
    """``x`` clamped to ``[min, max]``. At a bound the gradient is x's; NaN has
    none.
    """
    return _clamped(x, min, max)


def _where_inside(grad, self, min, max):
    if min is None or max is None:
        return NotImplemented
    return api.where((self >= min).logical_and_(self <= max), grad, 0)


clamp.gradients_seen_as(self=_where_inside)


@pointwise(
    "clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
    node="ClampMinBackward1",
    inplace_function=True,
)
def clamp_min_tensor(x, min):
    """``x``, or ``min`` where ``x`` is less, element by element."""
    return _not_below(x, min)


@pointwise(
    "clamp_min(Tensor self, Scalar min) -> Tensor", numbers=("min",), casts_out=False
)
def clamp_min(x, min):
    """``x``, or ``min`` where ``x`` is less."""
    return _not_below(x, min)


@pointwise(
    "clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
    node="ClampMaxBackward1",
    inplace_function=True,
)
def clamp_max_tensor(x, max):
    """``x``, or ``max`` where ``x`` is greater, element by element."""
    return _not_above(x, max)


@pointwise(
    "clamp_max(Tensor self, Scalar max) -> Tensor", numbers=("max",), casts_out=False
)
def clamp_max(x, max):
    """``x``, or ``max`` where ``x`` is greater."""
    return _not_above(x, max)


def _not_below(x, bound):
    return where(x >= bound, x, where(x < bound, bound, detach(x + bound)))


def _not_above(x, bound):
    return where(x <= bound, x, where(x > bound, bound, detach(x + bound)))


@pointwise("maximum(Tensor self, Tensor other) -> Tensor", inplace=False, core=True)
def maximum(x, y):
    """The greater one; NaN if either is. Ties share the gradient."""
    return larger(x, y)


def _share_of_winner(grad, is_equal, is_loser):
    """The gradient for the winner, or half of it if both are equal."""
    shared = api.where(is_equal, api.ops.aten.div.Scalar(grad, 2), grad)
    return shared.masked_fill_(is_loser, 0)


maximum.gradients_seen_as(
    self=lambda grad, self, other: _share_of_winner(grad, self == other, self < other),
    other=lambda grad, self, other: _share_of_winner(grad, self == other, self > other),
)


@pointwise("minimum(Tensor self, Tensor other) -> Tensor", inplace=False, core=True)
def minimum(x, y):
    """The lesser one; NaN if either is. Ties share the gradient."""
    return smaller(x, y)


minimum.gradients_seen_as(
    self=lambda grad, self, other: _share_of_winner(grad, self == other, self > other),
    other=lambda grad, self, other: _share_of_winner(grad, self == other, self < other),
)


@pointwise(
    "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) "
    "-> Tensor",
    casts_out=False,
)
def nan_to_num(x, nan, posinf, neginf):
    """``x`` with numbers for NaN and the infinities: 0 and the greatest and least of
    the dtype unless given.
    """
    dtype = declared_dtype(x)
    if not is_float(dtype):
        return x
    limit = largest_number(real_dtype(dtype) if is_complex(dtype) else dtype)
    greatest = limit if posinf is None else posinf
    least = -limit if neginf is None else neginf

    def number(part):
        finite = where(part == INF, to(greatest, part.dtype), part)
        finite = where(part == -INF, to(least, part.dtype), finite)
        return where(isnan(part), to(0.0 if nan is None else nan, part.dtype), finite)

    if is_complex(dtype):
        return complex_of(number(real(x)), number(imag(x)))
    return number(x)


@loop(
    "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, "
    "bool equal_nan=False) -> Tensor",
    out=False,
    layout="operand",
)
def isclose(x, y, rtol, atol, equal_nan):
    """``|x - y| <= atol + rtol |y|``, or both the same infinity."""
    require(
        x.dtype == y.dtype,
        f"isclose: the dtypes {x.dtype} and {y.dtype} differ; convert one of them",
    )
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        require(
            tolerance >= 0,
            f"isclose: {name} is {{}}; a tolerance is at least 0",
            tolerance,
        )
    close = x == y
    if equal_nan:
        close = close | (isnan(x) & isnan(y))
    if not x.is_floating:
        x, y = to(x, default_dtype()), to(y, default_dtype())
    distance = abs(x - y)
    near = (distance <= abs(y * rtol) + atol) & (distance < INF)
    return close | near
