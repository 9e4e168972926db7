"""Distances of rows."""

from pellucid_compiler.catalogue.statistics import vector_norm
from pellucid_compiler.composites import api
from pellucid_compiler.declare import reduction_op, require, unsqueeze
from pellucid_compiler.ir.dtypes import HALF


@reduction_op(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
    refuses=HALF,
    node="CdistBackward0",
    autocast="float32",
    method=False,
    out=False,
    backward="_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, "
    "Tensor cdist) -> Tensor",
    backward_out="out",
)
def cdist(a, b, p, compute_mode):
    """The norm of order ``p`` of each row of ``x1`` less each row of ``x2``.

    Never replaced by a product, whatever ``compute_mode`` is: the differences are
    exact where rows are close, and are summed where they are made.
    """
    require(a.dtype == b.dtype, f"cdist: rows of {a.dtype} and of {b.dtype}")
    require(p >= 0, "cdist: the order {} is negative", p)
    gaps = unsqueeze(a, a.rank - 1) - unsqueeze(b, b.rank - 2)
    return vector_norm(gaps, p, [gaps.rank - 1], False, None)


cdist.gradients_seen_as(
    x2=lambda grad, x1, x2, p, result: api.ops.aten._cdist_backward.default(
        grad.mT.contiguous(), x2, x1, p, result.mT.contiguous()
    )
)
