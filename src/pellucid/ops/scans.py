"""Running combinations along a dim: cumprod, cumsum, cummax, logcumsumexp."""

from pellucid.ir.dtypes import highest, lowest
from pellucid.lang import (
    INF,
    cast,
    const,
    detach,
    isnan,
    permute,
    require,
    scan,
    scan_op,
    tabulate,
    to,
    where,
    wrap_dim,
)
from pellucid.ops.elementary import logaddexp


@scan_op(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", inplace=True
)
def cumprod(x, dim, dtype):
    """The running product along ``dim``; exact gradients at zeros."""
    dim = wrap_dim(dim, x.rank)
    x = to(x, dtype or (x.dtype if x.is_floating else "int64"))
    if x.rank == 0:
        return tabulate([], lambda: x[()])
    return along_dim(x, dim, lambda carry, x_t: carry * x_t, 1)


def along_dim(x, dim, step, start, reverse=False):
    """``scan`` with one carry along any dim of ``x``."""
    order = [dim, *(d for d in range(x.rank) if d != dim)]
    xs = permute(x, order)
    first = tabulate(xs.shape[1:], lambda *p: const(start, x.dtype))
    stack = scan(step, first, [xs], reverse)
    return permute(stack, [order.index(d) for d in range(x.rank)])


@scan_op(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", inplace=True
)
def cumsum(x, dim, dtype):
    """The running sum along ``dim``."""
    dim = wrap_dim(dim, x.rank)
    x = to(x, dtype or (x.dtype if x.is_floating else "int64"))
    if x.rank == 0:
        return tabulate([], lambda: x[()])
    return along_dim(x, dim, lambda carry, x_t: carry + x_t, 0)


@scan_op("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)")
def cummax(x, dim):
    """The greatest element so far along ``dim`` and its place, the last one of ties.

    NaN is greater than any number.
    """
    return _running(x, dim, lambda new, old: new >= old, lowest)


@scan_op("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)")
def cummin(x, dim):
    """The least element so far along ``dim`` and its place, the last one of ties.

    NaN is less than any number.
    """
    return _running(x, dim, lambda new, old: new <= old, highest)


def _running(x, dim, replaces, start):
    """(the elements that replaced all before them, their places) along ``dim``."""
    dim = wrap_dim(dim, x.rank)
    if x.rank == 0:
        return tabulate([], lambda: x[()]), tabulate([], lambda: const(0, "int64"))
    order = [dim, *(d for d in range(x.rank) if d != dim)]
    xs = permute(x, order)
    places = tabulate(xs.shape[:1], lambda t: t)
    rest = xs.shape[1:]
    first = tabulate(rest, lambda *p: cast(const(start(x.dtype)), x.dtype))
    zeros = tabulate(rest, lambda *p: const(0, "int64"))

    def step(best, place, new, here):
        chosen = replaces(new, best)
        if x.is_floating:
            chosen = isnan(new) | (chosen & ~isnan(best))
        return where(chosen, new, best), where(chosen, here, place)

    _, stack = scan(step, (first, zeros), (detach(xs), places))
    found = permute(stack, [order.index(d) for d in range(x.rank)])
    values = tabulate(x.shape, lambda *p: x[[*p[:dim], found[p], *p[dim + 1 :]]])
    return values, found


@scan_op("logcumsumexp(Tensor self, int dim) -> Tensor")
def logcumsumexp(x, dim):
    """``log(cumsum(exp(x)))`` along ``dim``, without overflow."""
    dim = wrap_dim(dim, x.rank)
    require(
        x.is_floating,
        f"logcumsumexp: {x.dtype} is not a float dtype; convert first",
    )
    if x.rank == 0:
        return tabulate([], lambda: x[()])
    return along_dim(x, dim, logaddexp, -INF)
