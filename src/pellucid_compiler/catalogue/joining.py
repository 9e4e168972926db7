"""Joins: cat, stack."""

from functools import reduce

from pellucid_compiler.composites import api
from pellucid_compiler.declare import (
    ask,
    const,
    join,
    require,
    sizes_text,
    tabulate,
    to,
    unsqueeze,
    where,
    wrap_dim,
)
from pellucid_compiler.ir.dtypes import promote


@join(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    inverse="split_with_sizes",
    autocast="widest",
    core=True,
)
def cat(tensors, dim):
    """The tensors concatenated along ``dim``.

    An empty tensor of shape (0,) may be among tensors of another rank.
    """
    require(
        len(tensors) > 0,
        "cat(): expected a non-empty list of Tensors",
        error=ValueError,
    )
    require(
        all(t.rank > 0 for t in tensors),
        "cat: a scalar cannot be joined; give each tensor at least one dim",
    )
    dtype = reduce(promote, (t.dtype for t in tensors))
    pieces = [to(t, dtype) for t in tensors if not _is_legacy_empty(t, tensors)]
    if not pieces:
        return to(tensors[0], dtype)
    rank = pieces[0].rank
    dim = wrap_dim(dim, rank)
    _require_same_sizes(pieces, dim)
    starts = [const(0)]
    for piece in pieces:
        starts.append(starts[-1] + piece.shape[dim])

    def element(*p):
        place = p[dim]

        def of(k):
            return pieces[k][[*p[:dim], place - starts[k], *p[dim + 1 :]]]

        out = of(len(pieces) - 1)
        for k in reversed(range(len(pieces) - 1)):
            out = where(place < starts[k + 1], of(k), out)
        return out

    first = pieces[0].shape
    return tabulate([*first[:dim], starts[-1], *first[dim + 1 :]], element)


@join(
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    inverse="unbind.int",
    autocast="widest",
)
def stack(tensors, dim):
    """Tensors of one shape, joined along a new dim."""
    require(len(tensors) > 0, "stack expects a non-empty TensorList")
    first = tensors[0]
    dim = wrap_dim(dim, first.rank + 1)
    for k, t in enumerate(tensors[1:], start=1):
        require(
            t.rank == first.rank,
            f"stack expects each tensor to be equal size, but got {sizes_text(first)} "
            f"at entry 0 and {sizes_text(t)} at entry {k}",
            *(*first.shape, *t.shape),
        )
        for own, other in zip(first.shape, t.shape, strict=True):
            require(
                own == other,
                f"stack expects each tensor to be equal size, but got "
                f"{sizes_text(first)} at entry 0 and {sizes_text(t)} at entry {k}",
                *(*first.shape, *t.shape),
            )
    dtype = reduce(promote, (t.dtype for t in tensors))
    return cat([unsqueeze(to(t, dtype), dim) for t in tensors], dim)


@stack.core_as
def _(tensors, dim=0):
    dim = dim % (tensors[0].dim() + 1)
    return api.ops.aten.cat([t.unsqueeze(dim) for t in tensors], dim)


def _is_legacy_empty(tensor, tensors):
    others = max(t.rank for t in tensors) > 1
    return others and tensor.rank == 1 and ask(tensor.shape[0] == 0)


def _require_same_sizes(pieces, dim):
    for k, piece in enumerate(pieces[1:], start=1):
        require(
            piece.rank == pieces[0].rank,
            f"cat(): Tensors must have same number of dimensions: got "
            f"{pieces[0].rank} and {piece.rank}",
        )
        for d in range(piece.rank):
            if d != dim:
                require(
                    pieces[0].shape[d] == piece.shape[d],
                    f"Sizes of tensors must match except in dimension {dim}. Expected "
                    f"size {{}} but got size {{}} for tensor number {k} in the list.",
                    pieces[0].shape[d],
                    piece.shape[d],
                )
