"""Arithmetic on elements."""

from pellucid.lang import pointwise


@pointwise(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    numbers=("other",),
)
def add(x, y, alpha):
    """``x + alpha y``."""
    return x + y * alpha


@pointwise("mul.Tensor(Tensor self, Tensor other) -> Tensor", numbers=("other",))
def mul(x, y):
    """``x y``."""
    return x * y
