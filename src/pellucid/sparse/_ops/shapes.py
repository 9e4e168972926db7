"""Rules of ops that move, select or concatenate elements: they transform indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.sparse._ops.conversions import batch_dims, convert
from pellucid.sparse._ops.parts import (
    COO,
    LAYOUT_NAMES,
    Parts,
    coo,
    is_sparse,
    join,
    split,
)
from pellucid.sparse._ops.patterns import ranges
from pellucid.sparse._ops.rules import RULES

rule = RULES.because("elements move by their indices; a Graph moves all positions")

# The compressed layout after transposing rows and columns.
_FLIPPED = {
    pellucid.sparse_csr: pellucid.sparse_csc,
    pellucid.sparse_csc: pellucid.sparse_csr,
    pellucid.sparse_bsr: pellucid.sparse_bsc,
    pellucid.sparse_bsc: pellucid.sparse_bsr,
}


def wrap(dim: int, count: int) -> int:
    """A nonnegative dim."""
    if not -count <= dim < max(count, 1):
        raise IndexError(
            "Dimension out of range (expected to be in range of "
            f"[{-count}, {count - 1}], but got {dim})"
        )
    return dim % count if count else 0


def _refuse(name: str, what: str, tensor: Tensor) -> Any:
    raise NotImplementedError(f"{name}: {what} of a tensor of layout {tensor.layout}")


@rule("permute")
def permute(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Permutes dims; sparse dims stay before dense dims."""
    parts = split(self)
    order = [wrap(d, self.dim()) for d in dims]
    if sorted(order) != list(range(self.dim())):
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not "
            "match"
            f" the length of the desired ordering of dimensions i.e. input.dim() = "
            f"{self.dim()} is not equal to len(dims) = {len(dims)}"
        )
    if parts.layout is not COO:
        if order == list(range(self.dim())):
            return self
        return transpose(self, *_exchanged(order, self))
    first, rest = order[: parts.sparse_dims], order[parts.sparse_dims :]
    if any(d >= parts.sparse_dims for d in first):
        raise RuntimeError(
            "permute: sparse dims and dense dims of a hybrid tensor do not change "
            "places; "
            f"the first {parts.sparse_dims} dims are sparse and {tuple(dims)} was given"
        )
    values = parts.values.permute(0, *(d - parts.sparse_dims + 1 for d in rest))
    size = tuple(parts.size[d] for d in order)
    ordered = (parts.is_coalesced and first == sorted(first)) or parts.nnz < 2
    return coo(parts.indices[first], values, size, ordered)


def _exchanged(order: list[int], tensor: Tensor) -> list[int]:
    moved = [d for d, source in enumerate(order) if d != source]
    if len(moved) != 2:
        _refuse("permute", f"the order {tuple(order)} of dims", tensor)
    return moved


@rule("transpose")
def transpose(self: Tensor, dim0: int, dim1: int) -> Tensor:
    """Transposes two dims; CSR becomes CSC, and BSR becomes BSC."""
    parts, count = split(self), self.dim()
    first, second = wrap(dim0, count), wrap(dim1, count)
    if parts.layout is COO:
        order = list(range(count))
        order[first], order[second] = second, first
        if (first < parts.sparse_dims) != (second < parts.sparse_dims):
            raise RuntimeError(
                "transpose: sparse dims and dense dims of a hybrid tensor do not "
                "change "
                f"places; the first {parts.sparse_dims} dims are sparse"
            )
        return permute(self, order)
    batch = batch_dims(parts)
    if first == second:
        return self
    if {first, second} != {batch, batch + 1}:
        _refuse("transpose", f"dims {first} and {second}", self)
    size = list(parts.size)
    size[batch], size[batch + 1] = size[batch + 1], size[batch]
    values = parts.values
    if values.dim() >= batch + 3 and parts.layout in (
        pellucid.sparse_bsr,
        pellucid.sparse_bsc,
    ):
        values = values.transpose(batch + 1, batch + 2)
    layout = _FLIPPED[parts.layout]
    return join(parts._replace(layout=layout, size=tuple(size), values=values))


@rule("t")
def t(self: Tensor) -> Tensor:
    """The transpose of a matrix."""
    sparse_dims, _, _ = pellucid._C._sparse_kind(self)
    if sparse_dims > 2 or self.dim() > sparse_dims:
        raise RuntimeError(
            "t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got "
            f"{sparse_dims} sparse and {self.dim() - sparse_dims} dense dimensions"
        )
    return self if self.dim() < 2 else transpose(self, 0, 1)


def _as_coo(self: Tensor) -> Parts:
    return split(self if self.layout is COO else convert(self, COO))


def _as_before(made: Tensor, self: Tensor) -> Tensor:
    """The result in the layout of ``self``, if possible."""
    if self.layout is COO or not is_sparse(made):
        return made
    return convert(made, self.layout)


@rule("index_select")
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices at ``index``, in its order, with repetitions."""
    if is_sparse(index):
        raise RuntimeError("index_select(): the index is a strided tensor of integers")
    parts = _as_coo(self)
    dim = wrap(dim, self.dim())
    index = index.reshape(-1)
    size = (*parts.size[:dim], len(index), *parts.size[dim + 1 :])
    if dim >= parts.sparse_dims:
        values = parts.values.index_select(dim - parts.sparse_dims + 1, index)
        return coo(parts.indices, values, size, parts.is_coalesced)
    limit = parts.size[dim]
    if index.numel() and not bool(((index >= -limit) & (index < limit)).all()):
        raise IndexError(
            f"index_select(): index out of range for a dim of size {limit}"
        )
    wanted, order = index.remainder(max(limit, 1)).sort(stable=True)
    rows = parts.indices[dim]
    starts = pellucid.searchsorted(wanted, rows)
    lengths = pellucid.searchsorted(wanted, rows, right=True) - starts
    owners, places = ranges(starts, lengths)
    indices = parts.indices[:, owners]
    indices[dim] = order[places] if len(order) else places
    is_sorted = parts.is_coalesced and bool((index[1:] > index[:-1]).all())
    made = coo(indices, parts.values.index_select(0, owners), size, is_sorted)
    return _as_before(made, self)


@rule("select")
def select(self: Tensor, dim: int, index: int) -> Tensor:
    """One slice: dense if no sparse dim remains."""
    dim = wrap(dim, self.dim())
    limit = self.shape[dim]
    if not -limit <= index < limit:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size "
            f"{list(self.shape)} "
            f"at dimension {dim}"
        )
    index %= limit
    if self.layout is not COO and dim < batch_dims(whole := split(self)):
        return _example(whole, dim, index)
    parts = _as_coo(self)
    size = (*parts.size[:dim], *parts.size[dim + 1 :])
    if dim >= parts.sparse_dims:
        values = parts.values.select(dim - parts.sparse_dims + 1, index)
        return coo(parts.indices, values, size, parts.is_coalesced)
    chosen = (parts.indices[dim] == index).nonzero().squeeze(1)
    values = parts.values.index_select(0, chosen)
    if parts.sparse_dims == 1:
        return values.sum(0) if len(chosen) != 1 else values[0]
    rest = [d for d in range(parts.sparse_dims) if d != dim]
    return coo(parts.indices[rest][:, chosen], values, size, parts.is_coalesced)


def _example(batch: Parts, dim: int, index: int) -> Tensor:
    """One slice of a batch of compressed matrices, in their layout."""
    structure = tuple(each.select(dim, index) for each in batch.structure)
    size = (*batch.size[:dim], *batch.size[dim + 1 :])
    values = batch.values.select(dim, index)
    return join(batch._replace(size=size, structure=structure, values=values))


@rule("diagonal")
def diagonal(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The elements of the diagonal, whose dim is the last of the sparse ones."""
    parts = _as_coo(self)
    dims = wrap(dim1, self.dim()), wrap(dim2, self.dim())
    if dims[0] == dims[1]:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if max(dims) >= parts.sparse_dims:
        raise NotImplementedError(
            f"diagonal of a sparse tensor takes two of its {parts.sparse_dims} sparse "
            f"dims, not {dim1} and {dim2}: compute it densely, tensor.to_dense()"
        )
    rows, columns = (parts.indices[dim] for dim in dims)
    chosen = (columns - rows == offset).nonzero().squeeze(1)
    place = (rows if offset >= 0 else columns)[chosen]
    rest = [dim for dim in range(parts.sparse_dims) if dim not in dims]
    indices = pellucid.cat([parts.indices[rest][:, chosen], place.unsqueeze(0)])
    height, width = (parts.size[dim] for dim in dims)
    length = max(min(height + min(offset, 0), width - max(offset, 0)), 0)
    size = (*(parts.size[dim] for dim in rest), length, *parts.dense_size)
    is_sorted = parts.is_coalesced and dims == (len(rest), len(rest) + 1)
    return coo(indices, parts.values.index_select(0, chosen), size, is_sorted)


@rule("slice")
def slice_(
    self: Tensor,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Tensor:
    """The slices between ``start`` and ``end``."""
    dim = wrap(dim, self.dim())
    index = pellucid.arange(self.shape[dim], device=self.device)[start:end:step]
    return index_select(self, dim, index)


@rule("narrow")
def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """``length`` slices from ``start`` on."""
    dim = wrap(dim, self.dim())
    start += self.shape[dim] if start < 0 else 0
    if start < 0 or length < 0 or start + length > self.shape[dim]:
        raise RuntimeError(
            f"start ({start}) + length ({length}) exceeds dimension size "
            f"({self.shape[dim]})."
        )
    return slice_(self, dim, start, start + length)


@rule("cat")
def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Concatenates sparse tensors along a dim."""
    _require_sparse(tensors)
    first = tensors[0]
    dim = wrap(dim, first.dim())
    every = [_as_coo(each) for each in tensors]
    for each in every[1:]:
        _require_fits(every[0], each, dim)
    total = sum(parts.size[dim] for parts in every)
    size = (*every[0].size[:dim], total, *every[0].size[dim + 1 :])
    indices, values, offset = [], [], 0
    for parts in every:
        index, value = parts.indices, parts.values
        if dim < parts.sparse_dims:
            index = index.clone()
            index[dim] += offset
        else:
            place = dim - parts.sparse_dims + 1
            shape = [*value.shape]
            before, behind = shape[:], shape[:]
            before[place] = offset
            behind[place] = total - offset - shape[place]
            value = pellucid.cat(
                [value.new_zeros(before), value, value.new_zeros(behind)], place
            )
        indices.append(index)
        values.append(value)
        offset += parts.size[dim]
    ordered = dim == 0 and all(parts.is_coalesced for parts in every)
    made = coo(
        pellucid.cat(indices, 1),
        pellucid.cat(values),
        size,
        ordered and every[0].sparse_dims > 0,
    )
    return _as_before(made, first)


def _require_sparse(tensors: Sequence[Tensor]) -> None:
    if not all(is_sparse(each) for each in tensors):
        # a dense first tensor has no kernel that takes sparse ones
        error = RuntimeError if is_sparse(tensors[0]) else NotImplementedError
        raise error(
            "Concatenating sparse tensors, but a dense tensor was found: convert it "
            "with to_sparse(), or the others with to_dense()"
        )


def _require_fits(first: Parts, other: Parts, dim: int) -> None:
    if first.sparse_dims != other.sparse_dims or len(first.size) != len(other.size):
        raise RuntimeError(
            "All tensors must have the same number of dimensions, and the same sparse "
            f"ones: {first.sparse_dims} of {len(first.size)}, and {other.sparse_dims} "
            "of "
            f"{len(other.size)}"
        )
    for d, (a, b) in enumerate(zip(first.size, other.size, strict=True)):
        if d != dim and a != b:
            raise RuntimeError(
                "All tensors must have the same shape: ["
                + ", ".join(map(str, first.size))
                + f"] (got: [{', '.join(map(str, other.size))}] for dimension {d})"
            )


@rule("stack")
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Stacks sparse tensors along a new dim."""
    _require_sparse(tensors)
    dim = wrap(dim, tensors[0].dim() + 1)
    return cat([unsqueeze(each, dim) for each in tensors], dim)


@rule("unsqueeze")
def unsqueeze(self: Tensor, dim: int) -> Tensor:
    """Inserts a dim of size 1: sparse, unless it is after the sparse dims."""
    parts = _as_coo(self)
    dim = wrap(dim, self.dim() + 1)
    size = (*parts.size[:dim], 1, *parts.size[dim:])
    if dim > parts.sparse_dims:
        values = parts.values.unsqueeze(dim - parts.sparse_dims + 1)
        return coo(parts.indices, values, size, parts.is_coalesced)
    row = parts.indices.new_zeros((1, parts.nnz))
    indices = pellucid.cat([parts.indices[:dim], row, parts.indices[dim:]])
    return coo(indices, parts.values, size, parts.is_coalesced)


@rule("squeeze")
def squeeze(self: Tensor, dim: Any = None) -> Tensor:
    """Removes dims of size 1, or the given ones."""
    parts = _as_coo(self)
    given = range(self.dim()) if dim is None else [dim] if isinstance(dim, int) else dim
    gone = {d for d in (wrap(d, self.dim()) for d in given) if parts.size[d] == 1}
    size = tuple(n for d, n in enumerate(parts.size) if d not in gone)
    kept = [d for d in range(parts.sparse_dims) if d not in gone]
    dense = [d - parts.sparse_dims + 1 for d in gone if d >= parts.sparse_dims]
    values = parts.values.squeeze(tuple(dense)) if dense else parts.values
    indices = parts.indices[kept] if kept else parts.indices[:0]
    return coo(indices, values, size, parts.is_coalesced)


@rule("flip")
def flip(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Reverses the elements along the dims."""
    parts = _as_coo(self)
    indices, values = parts.indices.clone(), parts.values
    for dim in (wrap(d, self.dim()) for d in dims):
        if dim < parts.sparse_dims:
            indices[dim] = parts.size[dim] - 1 - indices[dim]
        else:
            values = values.flip(dim - parts.sparse_dims + 1)
    return _as_before(coo(indices, values, parts.size, False), self)


@rule("unbind")
def unbind(self: Tensor, dim: int = 0) -> list[Tensor]:
    """All slices along a dim."""
    dim = wrap(dim, self.dim())
    return [select(self, dim, k) for k in range(self.shape[dim])]


@rule("view_as_real", "view_as_real_copy")
def view_as_real(self: Tensor) -> Tensor:
    """Complex elements as pairs, in a new dense dim."""
    parts = _complex_parts("view_as_real", self)
    values = pellucid.view_as_real(parts.values)
    return coo(parts.indices, values, (*parts.size, 2), parts.is_coalesced)


@rule("view_as_complex", "view_as_complex_copy")
def view_as_complex(self: Tensor) -> Tensor:
    """The last dim, a dense one of size 2, as complex elements."""
    parts = _complex_parts("view_as_complex", self)
    if parts.values.dim() < 2 or parts.size[-1] != 2:
        raise RuntimeError(
            "view_as_complex(): the last dim must be dense and have size 2, but the "
            f"size is {tuple(parts.size)} with {parts.values.dim() - 1} dense dims"
        )
    values = pellucid.view_as_complex(parts.values)
    return coo(parts.indices, values, parts.size[:-1], parts.is_coalesced)


def _complex_parts(name: str, tensor: Tensor) -> Parts:
    if tensor.layout is not COO:
        _refuse(name, "complex elements", tensor)
    return split(tensor)


@rule("trace")
def diagonal_sums(self: Tensor) -> Tensor:
    """``trace``: the sum of the diagonal of a matrix."""
    parts = _as_coo(self)
    chosen = (parts.indices[0] == parts.indices[1]).nonzero().squeeze(1)
    return parts.values.index_select(0, chosen).sum(0)


@rule("expand")
def expand(self: Tensor, size: Sequence[int], *, implicit: bool = False) -> Any:
    """Refused, as in PyTorch."""
    raise RuntimeError(f"expand is unsupported for {LAYOUT_NAMES[self.layout]} tensors")


@rule("reshape")
def reshape(self: Tensor, shape: Sequence[int]) -> Any:
    """Refused, as in PyTorch."""
    raise RuntimeError("reshape is not implemented for sparse tensors")
