"""Reading and writing diagonals, and padding: diag, diag_embed, constant_pad_nd."""

from pellucid_compiler.catalogue.views import diagonal
from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    cast,
    loop,
    require,
    require_fits,
    tabulate,
    where,
    wrap_dim,
)


def _diag_node(x, _):
    return "DiagEmbedBackward0" if x.rank == 1 else "DiagonalBackward0_copy"


@loop("diag(Tensor self, int diagonal=0) -> Tensor", node=_diag_node)
def diag(x, offset):
    """A vector as a diagonal of a square matrix; of a matrix, a copy of a diagonal."""
    require(
        x.rank in (1, 2), f"diag: a vector or a matrix is needed, not rank {x.rank}"
    )
    if x.rank == 2:
        line = diagonal(x, offset, 0, 1)
        return tabulate(line.shape, lambda *p: line[p])
    return diag_embed.function(x, offset, 0, 1)


diag.gradients_seen_as(
    self=lambda grad, size, diagonal: (
        grad.diagonal(diagonal)
        if len(size) == 1
        else api.ops.aten.diagonal_backward(grad, size, diagonal, 0, 1)
    )
)


@loop("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
def diag_embed(x, offset, dim1, dim2):
    """The last dim of ``x`` as diagonals of square matrices in dims dim1 and dim2."""
    rank = x.rank + 1
    first, second = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    require(first != second, f"diag_embed: the dims {dim1} and {dim2} are the same")
    require(x.rank > 0, "diag_embed: a tensor of rank 0 has no diagonal to embed")
    size = x.shape[-1] + abs(offset)
    shape, batch = [], iter(x.shape[:-1])
    for d in range(rank):
        shape.append(size if d in (first, second) else next(batch))

    def element(*p):
        row, column = p[first], p[second]
        place = row if offset >= 0 else column
        others = [i for d, i in enumerate(p) if d not in (first, second)]
        return where(column - row == offset, x[[*others, place]], cast(0, x.dtype))

    return tabulate(shape, element)


@loop(
    "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    layout="images",
    core=True,
    method=False,
    backward="constant_pad_nd(pad=-pad, value=0)",
)
def constant_pad_nd(x, pad, value):
    """``x`` with ``value`` around it: pairs of counts, from the last dim on.

    A negative count crops.
    """
    require(
        len(pad) % 2 == 0,
        f"constant_pad_nd: {len(pad)} counts; give a pair for each padded dim",
    )
    padded = len(pad) // 2
    require(
        padded <= x.rank,
        f"constant_pad_nd: {padded} pairs of counts for a tensor of rank {x.rank}",
    )
    before, shape = [0] * x.rank, list(x.shape)
    for k in range(padded):
        d, left, right = x.rank - 1 - k, pad[2 * k], pad[2 * k + 1]
        before[d], shape[d] = left, x.shape[d] + left + right
        require(
            shape[d] >= 0,
            f"constant_pad_nd: padding by {{}} and {{}} gives a negative size to "
            f"dim {d} with size {{}}",
            left,
            right,
            x.shape[d],
        )
    require_fits("constant_pad_nd", value, x.dtype)
    fill = cast(value, x.dtype)
    return tabulate(
        shape,
        lambda *p: x.outside(fill)[
            [i - left for i, left in zip(p, before, strict=True)]
        ],
    )
