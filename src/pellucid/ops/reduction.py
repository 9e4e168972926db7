"""Reductions: sum, logsumexp, var_mean, max along a dim."""

from pellucid.lang import (
    argmax_of,
    cast,
    const,
    detach,
    exp,
    fused,
    greatest_over,
    isinf,
    kept_shape,
    log,
    make,
    mean_over,
    num_elements,
    reduction_op,
    require,
    restore_dims,
    squeeze_dims,
    tabulate,
    to,
    total_over,
    where,
    wrap_dim,
    wrap_dims,
)


@reduction_op(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, "
    "ScalarType? dtype=None) -> Tensor"
)
def sum_dim(x, dim, keepdim, dtype):
    """The sum over ``dim``; integers and bools are summed as int64."""
    x = to(x, dtype or (x.dtype if x.is_floating else "int64"))
    return total_over(x, dim, keepdim)


@fused("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor")
def logsumexp(x, dim, keepdim):
    """``m + log sum exp(x - m)``, m the greatest element where it is finite."""
    x = to(x, None if x.is_floating else "float32")
    m = detach(greatest_over(x, dim, keepdim=True))
    m = where(isinf(m), 0.0, m)
    y = log(total_over(exp(x - m), dim, keepdim=True)) + m
    return y if keepdim else squeeze_dims(y, wrap_dims(dim, x.rank))


@logsumexp.vjp("saved values: saves x and y, not the exponentials and their sum")
def _(x, dim, keepdim, y, grad, derived):
    if not keepdim:
        dims = wrap_dims(dim, x.rank)
        y, grad = (restore_dims(t, dims, x.rank) for t in (y, grad))
    return exp(x - y) * grad


@reduction_op(
    "var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, "
    "bool keepdim=False) -> (Tensor, Tensor)"
)
def var_mean(x, dim, correction, keepdim):
    """``sum((x - mean)^2) / max(0, n - correction)`` in two passes, and the mean."""
    require(x.is_floating, f"var_mean: {x.dtype} has no mean; convert to a float dtype")
    dims = wrap_dims(dim, x.rank)
    center = mean_over(x, dims, keepdim=True) if dims else x
    count = num_elements(x, dims) - (1 if correction is None else correction)
    freedom = cast(make("maximum", count, 0), x.dtype)
    spread = (x - center) * (x - center)
    variance = (total_over(spread, dims, keepdim) if dims else spread) / freedom
    return variance, center if keepdim else squeeze_dims(center, dims)


@reduction_op(
    "max.dim(Tensor self, int dim, bool keepdim=False) "
    "-> (Tensor values, Tensor indices)"
)
def max_dim(x, dim, keepdim):
    """The greatest element along ``dim`` and where it stands: the first one, or a NaN.

    The values are loaded at the indices, so the gradient goes to that element.
    """
    dim = wrap_dim(dim, x.rank)
    if x.rank == 0:
        return tabulate([], lambda: x[()]), tabulate([], lambda: const(0))
    size = x.shape[dim]
    require(
        size > 0, f"max: dim {dim} has no elements to choose from", error=IndexError
    )
    shape = kept_shape(x, [dim], keepdim)

    def along(p, k):
        return x[[*p[:dim], k, *p[dim + keepdim :]]]

    indices = tabulate(shape, lambda *p: argmax_of([size], lambda k: (along(p, k), k)))
    return tabulate(shape, lambda *p: along(p, indices[p])), indices
