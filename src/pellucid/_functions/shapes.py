"""Functions that only rearrange: views and joins written with the catalogue's views.

They have no kernels of their own, so they are no ops; gradients follow from what they
call. Used by ``pellucid/__init__.py`` through ``__all__``; those in ``_METHODS`` are
methods of Tensor too. Read next: ``products.py``, ``draws.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import pellucid
from pellucid._calls.argument_checks import require_tensors
from pellucid._calls.deprecation import deprecated
from pellucid._functions.queries import broadcast_tensors
from pellucid._tensor import Tensor

TYPE_CHECKING = False  # importing typing takes a fifth of all of this
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "argwhere",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_to",
    "column_stack",
    "concat",
    "concatenate",
    "dsplit",
    "dstack",
    "fliplr",
    "flipud",
    "hsplit",
    "hstack",
    "meshgrid",
    "moveaxis",
    "movedim",
    "nonzero",
    "ravel",
    "repeat_interleave",
    "rot90",
    "row_stack",
    "swapaxes",
    "swapdims",
    "tensor_split",
    "tile",
    "tril_indices",
    "triu_indices",
    "unflatten",
    "vsplit",
    "vstack",
]
_METHODS = (
    *("argwhere", "broadcast_to", "dsplit", "fliplr", "flipud", "hsplit", "moveaxis"),
    *(
        "movedim",
        "nonzero",
        "ravel",
        "repeat_interleave",
        "rot90",
        "swapaxes",
        "swapdims",
    ),
    *("tensor_split", "tile", "unflatten", "vsplit"),
)


def _wrapped(dim: int, rank: int) -> int:
    span = max(rank, 1)
    if not -span <= dim < span:
        raise IndexError(
            f"dim {dim} is out of range: a tensor of {rank} dimensions has dims "
            f"{-span} to {span - 1}"
        )
    return dim % span


# Views


def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """The dims ``source`` at the places ``destination``, the others in their order."""
    sources = [source] if isinstance(source, int) else list(source)
    targets = [destination] if isinstance(destination, int) else list(destination)
    if len(sources) != len(targets):
        raise RuntimeError(
            f"movedim: {len(sources)} sources for {len(targets)} destinations: give "
            "as many of each"
        )
    rank = input.dim()
    taken = [_wrapped(d, rank) for d in sources]
    places = [_wrapped(d, rank) for d in targets]
    for name, dims in (("source", taken), ("destination", places)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: {name} {dims} names a dimension twice")
    if rank == 0:
        return pellucid.alias(input)
    found = dict(zip(places, taken, strict=True))
    rest = iter([d for d in range(rank) if d not in taken])
    return input.permute([found[d] if d in found else next(rest) for d in range(rank)])


moveaxis = movedim


def swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    """Two dims exchanged; another name of ``transpose``."""
    return input.transpose(axis0, axis1)


def swapdims(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dims exchanged; another name of ``transpose``."""
    return input.transpose(dim0, dim1)


def ravel(input: Tensor) -> Tensor:
    """All elements in one dim."""
    return input.contiguous().view(-1)


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dim as several of the given sizes, one of which may be -1."""
    dim = _wrapped(dim, input.dim())
    if not len(sizes):
        raise RuntimeError("unflatten: the sizes are empty: give at least one")
    shape = tuple(input.shape)
    known = math.prod(size for size in sizes if size != -1)
    # The size that is left out follows from this dim alone: the tensor may be empty.
    if list(sizes).count(-1) == 1 and known > 0 and shape[dim] % known == 0:
        sizes = [shape[dim] // known if size == -1 else size for size in sizes]
    return input.view(*shape[:dim], *sizes, *shape[dim + 1 :])


def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """``input`` expanded to a shape."""
    return input.expand(size)


def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least one dim."""
    return _each(tensors, lambda t: t.reshape(1) if t.dim() == 0 else t)


def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least two dims, new ones in front."""

    def widen(t: Tensor) -> Tensor:
        return t if t.dim() >= 2 else t.reshape(1, 1) if t.dim() == 0 else t[None]

    return _each(tensors, widen)


def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least three dims: (n,) becomes (1, n, 1), (m, n) (m, n, 1)."""

    def widen(t: Tensor) -> Tensor:
        if t.dim() >= 3:
            return t
        return t.reshape(1, 1, 1) if t.dim() == 0 else atleast_2d(t).unsqueeze(-1)

    return _each(tensors, widen)


def _each(tensors: tuple[Any, ...], change: Any) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return change(tensors[0])
    listed = tensors[0] if len(tensors) == 1 else tensors
    return tuple(map(change, listed))


# Splitting


def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> Any:
    """Views of parts along ``dim``: so many, as equal as can be, or cut at indices."""
    dim = _wrapped(dim, input.dim())
    if input.dim() == 0:
        raise RuntimeError("tensor_split: a scalar has no dim to split")
    size = input.shape[dim]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = indices_or_sections.tolist()
    if isinstance(indices_or_sections, int):
        if indices_or_sections <= 0:
            raise RuntimeError(
                f"tensor_split: {indices_or_sections} parts; give at least one"
            )
        least, more = divmod(size, indices_or_sections)
        sizes = [least + (k < more) for k in range(indices_or_sections)]
        return input.split(sizes, dim)
    cuts = [0, *indices_or_sections, size]
    parts = []
    for begin, end in pairwise(cuts):
        begin, end, _ = slice(begin, end).indices(size)
        parts.append(input.narrow(dim, begin, max(end - begin, 0)))
    return tuple(parts)


def _split_along(name: str, input: Tensor, parts: Any, dim: int, least: int) -> Any:
    if input.dim() < least:
        raise RuntimeError(
            f"{name} takes tensors of {least} dimensions or more, not {input.dim()}"
        )
    if isinstance(parts, int) and (parts <= 0 or input.shape[dim] % parts):
        raise RuntimeError(
            f"{name}: a size of {input.shape[dim]} does not divide into {parts} parts"
        )
    return tensor_split(input, parts, dim)


def hsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """``tensor_split`` along the second dim; of a vector, along its only one."""
    dim = 0 if input.dim() == 1 else 1
    return _split_along("hsplit", input, indices_or_sections, dim, 1)


def vsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """``tensor_split`` along the first dim."""
    return _split_along("vsplit", input, indices_or_sections, 0, 2)


def dsplit(input: Tensor, indices_or_sections: Any) -> Any:
    """``tensor_split`` along the third dim."""
    return _split_along("dsplit", input, indices_or_sections, 2, 3)


# Joining and repeating


def concat(tensors: Sequence[Tensor], dim: int = 0, *, out: Any = None) -> Tensor:
    """The tensors one after the other; another name of ``cat``."""
    options = {} if out is None else {"out": out}
    return pellucid.cat(list(tensors), dim, **options)


concatenate = concat


def hstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Joined along the second dim; vectors along their only one."""
    wide = list(atleast_1d(*tensors) if len(tensors) > 1 else atleast_1d(tensors))
    return concat(wide, 0 if wide[0].dim() == 1 else 1, out=out)


def vstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Joined along the first dim; a vector is a row."""
    return concat([atleast_2d(t) for t in tensors], 0, out=out)


row_stack = vstack


def dstack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Joined along the third dim."""
    return concat([atleast_3d(t) for t in tensors], 2, out=out)


def column_stack(tensors: Sequence[Tensor], *, out: Any = None) -> Tensor:
    """Joined along the second dim; a vector is a column."""
    columns = [t if t.dim() > 1 else t.reshape(t.numel(), 1) for t in tensors]
    return hstack(columns, out=out)


def tile(input: Tensor, *dims: Any) -> Tensor:
    """``repeat``, with counts of 1 put in front where some are left out."""
    counts = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    counts = [1] * (input.dim() - len(counts)) + list(counts)
    return input.repeat(counts)


def repeat_interleave(
    input: Tensor,
    repeats: Any = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each slice along ``dim`` so many times in a row; without ``dim``, each element.

    ``repeats`` is one count or one for each; alone it gives the indices.
    """
    if repeats is None:
        repeats, input = input, pellucid.arange(input.numel())
        dim = 0
    if dim is None:
        input, dim = input.reshape(-1), 0
    if isinstance(repeats, Tensor) and repeats.numel() == 1:
        repeats = int(repeats)
    dim = _wrapped(dim, input.dim())
    size = input.shape[dim]
    if isinstance(repeats, int):
        if repeats < 0:
            raise RuntimeError(f"repeat_interleave: the count {repeats} is negative")
        ends = pellucid.arange(size * repeats) // max(repeats, 1)
        return input.index_select(dim, ends)
    if repeats.numel() != size:
        raise RuntimeError(
            f"repeat_interleave: {repeats.numel()} counts for {size} slices: give one "
            "for each"
        )
    if bool((repeats < 0).any()):
        raise RuntimeError("repeat_interleave: a count is negative")
    starts = pellucid.zeros(int(repeats.sum()) + 1, dtype=pellucid.int64)
    starts.index_add_(
        0, repeats.cumsum(0)[:-1], pellucid.ones(max(size - 1, 0), dtype=pellucid.int64)
    )
    return input.index_select(dim, starts[:-1].cumsum(0))


def fliplr(input: Tensor) -> Tensor:
    """The second dim backwards."""
    if input.dim() < 2:
        raise RuntimeError("fliplr takes tensors of 2 dimensions or more")
    return input.flip(1)


def flipud(input: Tensor) -> Tensor:
    """The first dim backwards."""
    if input.dim() < 1:
        raise RuntimeError("flipud takes tensors of 1 dimension or more")
    return input.flip(0)


def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned ``k`` quarters from the first of ``dims`` towards the second."""
    if len(dims) != 2 or input.dim() < 2:
        raise RuntimeError(
            f"rot90 turns in the plane of 2 dims: got dims {list(dims)} of a tensor "
            f"of {input.dim()} dimensions"
        )
    first, second = (_wrapped(d, input.dim()) for d in dims)
    if first == second:
        raise RuntimeError(f"rot90: the dims {list(dims)} are the same")
    if k % 4 == 0:
        return input.clone()
    if k % 4 == 2:
        return input.flip(first, second)
    turned = input.flip(second if k % 4 == 1 else first)
    return turned.transpose(first, second)


# Grids and places


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """For each vector a grid of its elements along its own dim, the same for all.

    ``indexing``: "ij", the default, has a dim per vector in their order; "xy" exchanges
    the first two.
    """
    given = list(
        tensors[0]
        if len(tensors) == 1 and isinstance(tensors[0], list | tuple)
        else tensors
    )
    require_tensors("meshgrid", *given)
    if not given:
        raise RuntimeError("meshgrid: there are no tensors; give one or more vectors")
    if indexing is None:
        deprecated("meshgrid without indexing", "indexing='ij', which it means")
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f"meshgrid: indexing is {indexing!r}; give 'ij' or 'xy'")
    if any(t.dim() > 1 for t in given):
        raise RuntimeError("meshgrid takes vectors and scalars only")
    if any(t.dtype is not given[0].dtype for t in given):
        raise RuntimeError("meshgrid: the tensors must have one dtype; convert them")
    exchanged = indexing == "xy" and len(given) > 1
    if exchanged:
        given[:2] = given[1::-1]
    rank = len(given)
    shaped = [
        t.reshape([-1 if d == k else 1 for d in range(rank)])
        for k, t in enumerate(given)
    ]
    grids = list(broadcast_tensors(*shaped))
    if exchanged:
        grids[:2] = grids[1::-1]
    return tuple(grids)


_nonzero = pellucid.nonzero


def nonzero(input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: one row each, or with
    ``as_tuple`` one vector per dim.
    """
    if as_tuple:
        return tuple(pellucid.nonzero_numpy(input))
    return _nonzero(input) if out is None else _nonzero(input, out=out)


def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one row each."""
    found: Tensor = input.nonzero()
    return found


def _triangle_indices(
    row: int, col: int, dtype: Any, device: Any, lower: bool, offset: int
) -> Tensor:
    if row < 0 or col < 0:
        raise RuntimeError(f"the sizes {row} and {col} must not be negative")
    square = pellucid.ones(row, col, dtype=pellucid.bool)
    marked = square.tril(offset) if lower else square.triu(offset)
    found: Tensor = marked.nonzero().t().contiguous()
    return found.to(device or "cpu", dtype or pellucid.int64)


def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Rows and columns of a matrix's elements on and below a diagonal."""
    return _triangle_indices(row, col, dtype, device, True, offset)


def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """Rows and columns of a matrix's elements on and above a diagonal."""
    return _triangle_indices(row, col, dtype, device, False, offset)


for _name in _METHODS:
    setattr(Tensor, _name, globals()[_name])
