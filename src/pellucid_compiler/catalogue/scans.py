"""Running combinations along a dim: cumprod, cumsum, cummax, logcumsumexp."""

from pellucid_compiler.catalogue.elementary import logaddexp
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    INF,
    const,
    detach,
    isnan,
    maximum,
    minimum,
    permute,
    require,
    scan,
    scan_op,
    tabulate,
    to,
    where,
    wrap_dim,
)
from pellucid_compiler.ir.dtypes import highest, lowest


@scan_op(
    "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", inplace=True
)
def cumprod(x, dim, dtype):
    """The running product along ``dim``; exact gradients at zeros."""
    dim = wrap_dim(dim, x.rank)
    x = _accumulated("cumprod", x, dtype)
    if x.rank == 0:
        return tabulate([], lambda: x[()])
    return along_dim(x, dim, lambda carry, x_t: carry * x_t, 1)


def _accumulated(name, x, dtype):
    """``x`` in the dtype of the result."""
    x = to(x, dtype or (x.dtype if x.is_floating else "int64"))
    require(
        x.dtype != "bool",
        f"{name}: a running value is not a bool; leave dtype out or give an integer's",
        error=NotImplementedError,
    )
    return x


def along_dim(x, dim, step, start, reverse=False):
    """``scan`` with one carry along any dim of ``x``."""
    order = [dim, *(d for d in range(x.rank) if d != dim)]
    xs = permute(x, order)
    first = tabulate(xs.shape[1:], lambda *p: const(start, x.dtype))
    stack = scan(step, first, [xs], reverse)
    return permute(stack, [order.index(d) for d in range(x.rank)])


@scan_op(
    "cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    inplace=True,
    core=True,
)
def cumsum(x, dim, dtype):
    """The running sum along ``dim``."""
    dim = wrap_dim(dim, x.rank)
    x = _accumulated("cumsum", x, dtype)
    if x.rank == 0:
        return tabulate([], lambda: x[()])
    return along_dim(x, dim, lambda carry, x_t: carry + x_t, 0)


cumsum.gradients_seen_as(self=lambda grad, dim: grad.flip(dim).cumsum(dim).flip(dim))


@scan_op("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)")
def cummax(x, dim):
    """The greatest element so far along ``dim`` and its index, the last one of ties.

    NaN is greater than any number.
    """
    return _running(x, dim, maximum, lowest)


@scan_op("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)")
def cummin(x, dim):
    """The least element so far along ``dim`` and its index, the last one of ties.

    NaN is less than any number.
    """
    return _running(x, dim, minimum, highest)


def _running(x, dim, combine, start):
    """(``combine`` of all elements so far, the index of the last one that equals it).

    The index changes only at elements that equal the result, so the indices are a
    running maximum, too.
    """
    dim = wrap_dim(dim, x.rank)
    if x.rank == 0:
        return tabulate([], lambda: x[()]), tabulate([], lambda: const(0, "int64"))
    dtype = "uint8" if x.dtype == "bool" else x.dtype
    plain = to(detach(x), dtype)
    best = along_dim(plain, dim, lambda carry, x_t: combine(carry, x_t), start(dtype))

    def place(*p):
        new = plain[p]
        holds = new == best[p]
        return where(holds | isnan(new) if x.is_floating else holds, p[dim], 0)

    places = tabulate(x.shape, place)
    indices = along_dim(
        places, dim, lambda carry, k: maximum(carry, k), lowest("int64")
    )
    values = tabulate(x.shape, lambda *p: x[[*p[:dim], indices[p], *p[dim + 1 :]]])
    return values, indices


@scan_op("logcumsumexp(Tensor self, int dim) -> Tensor", casts_out=False)
def logcumsumexp(x, dim):
    """``log(cumsum(exp(x)))`` along ``dim``, without overflow."""
    dim = wrap_dim(dim, x.rank)
    require(
        x.is_floating,
        f"logcumsumexp: {x.dtype} is not a float dtype; convert first",
        error=NotImplementedError,
    )
    if x.rank == 0:
        return tabulate([], lambda: x[()])
    return along_dim(x, dim, logaddexp, -INF)


def _seen_of_log_sums(grad, self, dim, result):
    """The gradient, with its positive and negative parts in logarithms."""
    if grad.is_complex() or not grad.dim():
        return NotImplemented
    log = grad.abs().log()
    parts = (api.where(grad > 0, log, -INF), api.where(grad < 0, log, -INF))
    positive, negative = (
        ((part - result).flip(dim).logcumsumexp(dim).flip(dim) + self).exp()
        for part in parts
    )
    return positive - negative


logcumsumexp.gradients_seen_as(self=_seen_of_log_sums)
