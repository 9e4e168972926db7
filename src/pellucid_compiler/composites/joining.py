"""Joins: stacks along a dim, blocks along a diagonal, grids, flat buffers."""

from itertools import combinations as choices
from itertools import combinations_with_replacement as repeated_choices

from pellucid_compiler.composites import api, composite, require


@composite(
    "block_diag(Tensor[] tensors) -> Tensor", variadic=True, method=False, out=True
)
def block_diag(tensors):
    """The matrices along the diagonal of one matrix of zeros."""
    blocks = [t.reshape(1, -1) if t.dim() < 2 else t for t in tensors]
    for number, block in enumerate(blocks):
        require(
            block.dim() == 2,
            "block_diag: tensor {} has {} dimensions; expected 2 or fewer",
            number,
            block.dim(),
        )
    width = sum(block.shape[1] for block in blocks)
    rows, before = [], 0
    for block in blocks:
        after = width - before - block.shape[1]
        rows.append(api.nn.functional.pad(block, (before, after)))
        before += block.shape[1]
    return api.cat(rows) if rows else api.empty(1, 0)


# Ranks


@composite(
    "atleast_1d(Tensor self) -> Tensor", method=False, tags="maybe_aliasing_or_mutating"
)
def atleast_1d(x):
    """``x`` with at least one dim."""
    return x if x.dim() else x.reshape(1)


@composite(
    "atleast_2d(Tensor self) -> Tensor", method=False, tags="maybe_aliasing_or_mutating"
)
def atleast_2d(x):
    """``x`` with at least two dims, new ones in front."""
    return x if x.dim() >= 2 else x.reshape(1, 1) if x.dim() == 0 else x.unsqueeze(0)


@composite(
    "atleast_3d(Tensor self) -> Tensor", method=False, tags="maybe_aliasing_or_mutating"
)
def atleast_3d(x):
    """``x`` with at least three dims: (n,) becomes (1, n, 1), (m, n) (m, n, 1)."""
    if x.dim() >= 3:
        return x
    return x.reshape(1, 1, 1) if x.dim() == 0 else atleast_2d(x).unsqueeze(-1)


@composite(
    "atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", variadic=True, method=False
)
def all_atleast_1d(tensors):
    """Each tensor with at least one dim."""
    return [atleast_1d(t) for t in tensors]


@composite(
    "atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", variadic=True, method=False
)
def all_atleast_2d(tensors):
    """Each tensor with at least two dims."""
    return [atleast_2d(t) for t in tensors]


@composite(
    "atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", variadic=True, method=False
)
def all_atleast_3d(tensors):
    """Each tensor with at least three dims."""
    return [atleast_3d(t) for t in tensors]


# Joins


def _require_tensors(name, tensors):
    require(len(tensors) > 0, "{}: the list of tensors is empty", name)


@composite(
    "concat(Tensor[] tensors, int dim=0) -> Tensor",
    out=True,
    method=False,
    aliases=("concatenate",),
)
def concat(tensors, dim):
    """The tensors concatenated along ``dim``."""
    return api.cat(tensors, dim)


@composite("hstack(Tensor[] tensors) -> Tensor", out=True, method=False)
def hstack(tensors):
    """Joined along the second dim; vectors along their only one."""
    _require_tensors("hstack", tensors)
    wide = [t if t.dim() else t.reshape(1) for t in tensors]
    return api.cat(wide, 0 if wide[0].dim() == 1 else 1)


@composite(
    "vstack(Tensor[] tensors) -> Tensor", out=True, method=False, aliases=("row_stack",)
)
def vstack(tensors):
    """Joined along the first dim; a vector is a row."""
    _require_tensors("vstack", tensors)
    return api.cat(all_atleast_2d(tensors), 0)


@composite("dstack(Tensor[] tensors) -> Tensor", out=True, method=False)
def dstack(tensors):
    """Joined along the third dim."""
    _require_tensors("dstack", tensors)
    return api.cat(all_atleast_3d(tensors), 2)


@composite("column_stack(Tensor[] tensors) -> Tensor", out=True, method=False)
def column_stack(tensors):
    """Joined along the second dim; a vector is a column."""
    _require_tensors("column_stack", tensors)
    columns = [t if t.dim() > 1 else t.reshape(t.numel(), 1) for t in tensors]
    return hstack(columns)


# Grids and choices


@composite(
    "broadcast_tensors(Tensor[] tensors) -> Tensor[]", variadic=True, method=False
)
def broadcast_tensors(tensors):
    """All tensors expanded to the shape they broadcast to."""
    shape = api.broadcast_shapes(*(t.shape for t in tensors))
    return [t if t.shape == shape else t.expand(shape) for t in tensors]


@composite(
    "meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
    method=False,
    function=False,
)
def meshgrid(tensors, *, indexing):
    """Each vector's elements along a separate dim, broadcast to a common grid.

    ``indexing``: "ij" has one dim per vector, in their order; "xy" swaps the first two.
    """
    vectors = list(tensors)
    require(bool(vectors), "meshgrid: there are no tensors; give one or more vectors")
    require(
        indexing in ("ij", "xy"),
        "meshgrid: indexing is {!r}; give 'ij' or 'xy'",
        indexing,
    )
    require(
        all(t.dim() <= 1 for t in vectors), "meshgrid takes vectors and scalars only"
    )
    require(
        all(t.dtype is vectors[0].dtype for t in vectors),
        "meshgrid: the tensors must have one dtype; convert them",
    )
    exchanged = indexing == "xy" and len(vectors) > 1
    if exchanged:
        vectors[:2] = vectors[1::-1]
    rank = len(vectors)
    shaped = [
        t.reshape([-1 if d == k else 1 for d in range(rank)])
        for k, t in enumerate(vectors)
    ]
    grids = broadcast_tensors(shaped)
    if exchanged:
        grids[:2] = grids[1::-1]
    return grids


@composite("meshgrid(Tensor[] tensors) -> Tensor[]", method=False, function=False)
def meshgrid_by_rows(tensors):
    """``meshgrid`` with one dim per vector, in their order."""
    return meshgrid(tensors, indexing="ij")


@composite(
    "cartesian_prod(Tensor[] tensors) -> Tensor",
    variadic=True,
    method=False,
    tags="maybe_aliasing_or_mutating",
)
def cartesian_prod(tensors):
    """All rows with one element of each vector."""
    _require_tensors("cartesian_prod", tensors)
    for t in tensors:
        require(t.dim() == 1, "cartesian_prod takes vectors, not {} dims", t.dim())
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(tensors, indexing="ij")
    return api.stack([grid.reshape(-1) for grid in grids], 1)


@composite(
    "combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
    method=False,
)
def combinations(x, r, with_replacement):
    """All choices of ``r`` elements of a vector, as rows."""
    require(x.dim() == 1, "combinations takes a vector, not {} dims", x.dim())
    require(r >= 0, "combinations: r is {}; give a number from 0 on", r)
    if r == 0:
        return x.new_empty(0)
    choose = repeated_choices if with_replacement else choices
    chosen = list(choose(range(x.shape[0]), r))
    places = api.tensor(chosen, dtype=api.int64, device=x.device)
    return x[places.reshape(len(chosen), r)]


# Flat buffers


@composite(
    "flatten_dense_tensors(Tensor[] tensors) -> Tensor", method=False, function=False
)
def flatten_dense_tensors(tensors):
    """All elements of all tensors in one vector."""
    return api.cat([t.contiguous().view(-1) for t in tensors])


@composite(
    "unflatten_dense_tensors(Tensor flat, Tensor[] tensors) -> Tensor[]",
    method=False,
    function=False,
)
def unflatten_dense_tensors(flat, tensors):
    """Views of the pieces of ``flat`` in the shapes of ``tensors``."""
    pieces, start = [], 0
    for t in tensors:
        size = t.numel()
        is_empty = size == 0
        piece = flat.new_empty(0) if is_empty else flat.narrow(0, start, size)
        pieces.append(piece.view(t.shape))
        start += size
    return pieces


@composite(
    "pad_sequence(Tensor[] sequences, bool batch_first=False, "
    "float padding_value=0.0, str padding_side='right') -> Tensor",
    namespace="nn",
)
def pad_sequence(sequences, batch_first, padding_value, padding_side):
    """Sequences (length, *) as one batch, shorter ones padded at one end."""
    require(
        padding_side in ("left", "right"),
        "padding_side is 'left' or 'right', not {!r}",
        padding_side,
        error=ValueError,
    )
    require(len(sequences) > 0, "pad_sequence was given no sequences")
    longest = max(s.size(0) for s in sequences)
    padded = []
    for s in sequences:
        missing = longest - s.size(0)
        if missing:
            fill = s.new_full((missing, *s.shape[1:]), padding_value)
            s = api.cat((s, fill) if padding_side == "right" else (fill, s))
        padded.append(s)
    return api.stack(padded, 0 if batch_first else 1)
