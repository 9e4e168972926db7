"""Pairwise distances of rows: cdist."""

from pellucid_compiler.catalogue.contraction import matmul
from pellucid_compiler.catalogue.statistics import vector_norm
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    INF,
    ask,
    contraction,
    maximum,
    require,
    sqrt,
    total_over,
    transpose_last,
    unsqueeze,
    where,
)
from pellucid_compiler.ir.dtypes import HALF


@contraction(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
    refuses=HALF,
    node="CdistBackward0",
    autocast="float32",
    method=False,
    function=False,
    out=False,
    backward="_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, "
    "Tensor cdist) -> Tensor",
    backward_reads="cdist=result",
    backward_out="out",
    core=True,
)
def cdist(a, b, p, compute_mode):
    """The norm of order ``p`` of the difference of each row of ``x1`` and each of
    ``x2``.

    ``compute_mode`` says whether the norm of order 2 uses a matrix product: 1 always, 2
    never, 0 for more than 25 rows. Differences are accurate for close rows; a product
    is not, but is faster. Batches that broadcast use differences.
    """
    require(a.dtype == b.dtype, f"cdist: rows of {a.dtype} and of {b.dtype}")
    require(p >= 0, "cdist: the order {} is negative", p)
    if _takes_product(a, b, p, compute_mode):
        squares = [total_over(x * x, x.rank - 1) for x in (a, b)]
        far = unsqueeze(squares[0], a.rank - 1) + unsqueeze(squares[1], b.rank - 2)
        return sqrt(maximum(far - 2 * matmul(a, transpose_last(b)), 0))
    gaps = unsqueeze(a, a.rank - 1) - unsqueeze(b, b.rank - 2)
    columns = gaps.rank - 1
    if ask(p == INF) and ask(gaps.shape[columns] == 0):
        return total_over(gaps, columns)  # 0: no gap is the greatest
    return vector_norm(gaps, p, [columns], False, None)


def _takes_product(a, b, p, compute_mode):
    if not ask(p == 2) or (compute_mode is not None and ask(compute_mode == 2)):
        return False
    if a.rank != b.rank:
        return False
    if not all(ask(n == m) for n, m in zip(a.shape[:-2], b.shape[:-2], strict=True)):
        return False
    if compute_mode is not None and ask(compute_mode == 1):
        return True
    return ask(a.shape[a.rank - 2] > 25) or ask(b.shape[b.rank - 2] > 25)


@cdist.vjp("the gradients of the squares and of the product cancel, as a product")
def _(a, b, p, compute_mode, y, grad, derived):
    if not _takes_product(a, b, p, compute_mode):
        return derived(grad)
    share = where(y == 0, 0.0, grad / y)
    return (
        _pull(a, b, share),
        _pull(b, a, transpose_last(share)),
    )


def _pull(x, other, share):
    """The sum of ``share * (x - other)`` over the rows of ``other``."""
    sums = total_over(share, share.rank - 1)
    return unsqueeze(sums, share.rank - 1) * x - matmul(share, other)


cdist.gradients_seen_as(
    x2=lambda grad, x1, x2, p, result: api.ops.aten._cdist_backward.default(
        grad.mT.contiguous(), x2, x1, p, result.mT.contiguous()
    )
)
