"""Choosing between elements: where, clamp, maximum, minimum."""

from pellucid.lang import detach, pointwise, require, where
from pellucid.lang import maximum as larger
from pellucid.lang import minimum as smaller


@pointwise(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    unpromoted=("condition",),
    numbers=("self", "other"),
    inplace=False,
)
def where_self(condition, x, y):
    """``x`` where ``condition`` else ``y``."""
    require(
        condition.dtype in ("bool", "uint8"),
        f"where: the condition has dtype {condition.dtype}; give a bool tensor",
    )
    return where(condition, x, y)


@pointwise("clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor")
def clamp(x, min, max):
    """``x`` kept within ``[min, max]``. At a bound the gradient is x's; NaN has
    none.
    """
    require(
        min is not None or max is not None,
        "clamp: give min, max or both; both are None",
    )
    if min is not None:
        x = where(x >= min, x, where(x < min, min, detach(x + min)))
    if max is not None:
        x = where(x <= max, x, where(x > max, max, detach(x + max)))
    return x


@pointwise("maximum(Tensor self, Tensor other) -> Tensor", inplace=False)
def maximum(x, y):
    """The greater one; NaN if either is. Ties share the gradient."""
    return larger(x, y)


@pointwise("minimum(Tensor self, Tensor other) -> Tensor", inplace=False)
def minimum(x, y):
    """The lesser one; NaN if either is. Ties share the gradient."""
    return smaller(x, y)
