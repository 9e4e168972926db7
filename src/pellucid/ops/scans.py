"""Running combinations along a dim: cumprod."""

from pellucid.lang import const, permute, scan, scan_op, tabulate, to, wrap_dim


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
