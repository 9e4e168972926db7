"""Reductions and the fused compositions built on them."""

from pellucid.lang import (
    detach,
    exp,
    fused,
    greatest_over,
    reduction_op,
    to,
    total_over,
)


@reduction_op(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"
)
def sum_dim(x, dim, keepdim, dtype):
    """The sum over ``dim``; integers and bools are summed as int64."""
    return total_over(
        to(x, dtype or (x.dtype if x.is_floating else "int64")), dim, keepdim
    )


@fused("_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
def softmax(x, dim, dtype):
    """``exp(x - max) / sum exp(x - max)`` along ``dim``."""
    x = to(x, dtype)
    e = exp(x - detach(greatest_over(x, dim, keepdim=True)))
    return e / total_over(e, dim, keepdim=True)


@softmax.vjp("saved values: saves y alone; the derived rule saves exp and its sum too")
def _(x, dim, dtype, y, grad, derived):
    return to(y * grad - y * total_over(y * grad, dim, keepdim=True), x.dtype)
