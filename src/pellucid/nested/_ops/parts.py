"""Splits a nested tensor into its components, and rebuilds it.

Jagged tensors store the rows of all examples in one tensor, ``values``, without the
batch dim; a ``Ragged`` has the rows of each example. Strided ones store all elements in
one vector; ``Pieces`` has the sizes of each example. Two autograd functions connect a
nested tensor and its values, whose gradients have its structure.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, cast
from weakref import WeakValueDictionary

import pellucid
from pellucid import _C, Tensor
from pellucid.autograd import Function

_numbers = itertools.count(1)
_known: WeakValueDictionary[Any, Ragged] = WeakValueDictionary()


class Ragged:
    """The first row and the number of rows of each example."""

    def __init__(self, offsets: Tensor, lengths: Tensor | None) -> None:
        self.offsets, self.lengths = offsets, lengths
        self.number = next(_numbers)
        self._spans: list[tuple[int, int]] | None = None
        self._rows: Tensor | None = None

    @property
    def spans(self) -> list[tuple[int, int]]:
        """(first row, number of rows) of each example."""
        if self._spans is None:
            borders = self.offsets.tolist()
            if self.lengths is None:
                counts = [b - a for a, b in itertools.pairwise(borders)]
            else:
                counts = self.lengths.tolist()
            self._spans = list(zip(borders, counts, strict=False))
        return self._spans

    @property
    def counts(self) -> list[int]:
        return [count for _, count in self.spans]

    @property
    def longest(self) -> int:
        return max(self.counts, default=0)

    def rows(self, total: int) -> Tensor:
        """The example of each of ``total`` rows of values."""
        if self._rows is None:
            places = pellucid.arange(total, device=self.offsets.device)
            found = pellucid.searchsorted(self.offsets[1:], places, right=True)
            self._rows = found.clamp(max=max(len(self.spans) - 1, 0))
        return self._rows


class Pieces:
    """The sizes of each example of a strided nested tensor."""

    def __init__(self, sizes: Sequence[Sequence[int]]) -> None:
        self.sizes = tuple(map(tuple, sizes))


def ragged_of(offsets: Tensor, lengths: Tensor | None = None) -> Ragged:
    """The structure of these offsets: one object per offsets' memory."""
    of_lengths = None if lengths is None else lengths.data_ptr()
    key = (offsets.data_ptr(), offsets.numel(), of_lengths)
    found = _known.get(key)
    if found is None:
        held = lengths if lengths is None else lengths.detach()
        found = _known[key] = Ragged(offsets.detach(), held)
    return found


def ragged_of_counts(counts: Sequence[int], device: Any = None) -> Ragged:
    """A new structure, without holes."""
    borders = list(itertools.accumulate(counts, initial=0))
    return ragged_of(pellucid.tensor(borders, dtype=pellucid.int64, device=device))


class Parts(NamedTuple):
    """``axis``: the ragged dim of a jagged tensor, -1 for a strided one."""

    axis: int
    structure: Any
    values: Tensor

    @property
    def is_jagged(self) -> bool:
        return self.axis > 0

    @property
    def batch(self) -> int:
        if self.is_jagged:
            return len(self.structure.spans)
        return len(self.structure.sizes)

    @property
    def dim(self) -> int:
        if self.is_jagged:
            return self.values.dim() + 1
        sizes = self.structure.sizes
        return 1 + (len(sizes[0]) if sizes else 0)

    @property
    def has_holes(self) -> bool:
        return self.is_jagged and self.structure.lengths is not None

    def with_values(self, values: Tensor, axis: int | None = None) -> Tensor:
        """The tensor of the same structure with other values."""
        axis = self.axis if axis is None else axis
        return join(self._replace(values=values, axis=axis))

    def pieces(self) -> list[Tensor]:
        """The examples, which are views of the values."""
        if not self.batch:
            return []
        if not self.is_jagged:
            sizes = self.structure.sizes
            flat = self.values.split([prod(size) for size in sizes])
            return [piece.view(size) for piece, size in zip(flat, sizes, strict=True)]
        if self.values.is_quantized:
            return _quantized_pieces(self)
        if self.has_holes:
            return [
                self.values.narrow(self.axis - 1, start, count)
                for start, count in self.structure.spans
            ]
        return list(self.values.split(self.structure.counts, self.axis - 1))


def _quantized_pieces(parts: Parts) -> list[Tensor]:
    """The examples of quantized values: views, or, of scales for each row, copies with
    those of their rows.
    """
    along, values = parts.axis - 1, parts.values
    spans = parts.structure.spans
    has_one = values.qscheme() is pellucid.per_tensor_affine
    if has_one or values.q_per_channel_axis() != along:
        return [values.narrow(along, *span) for span in spans]
    integers, scales = values.int_repr(), values.q_per_channel_scales()
    zeros = values.q_per_channel_zero_points()
    return [
        pellucid._make_per_channel_quantized_tensor(
            integers.narrow(along, *span),
            *(scales.narrow(0, *span), zeros.narrow(0, *span), along),
        )
        for span in spans
    ]


def wrapped(dim: int, rank: int) -> int:
    """A dim counted from the left; IndexError out of range."""
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}],"
            f" but got {dim})"
        )
    return int(dim) % rank


def is_nested(value: Any) -> bool:
    """Whether it is a nested tensor of either layout."""
    return isinstance(value, Tensor) and value.is_nested


def split(tensor: Tensor) -> Parts:
    """The components; gradients of the values pass to the tensor."""
    axis, structure, values = _C._nested_kind(tensor)
    if tensor.requires_grad and pellucid.is_grad_enabled():
        values = _Values.apply(tensor)
    return Parts(axis, structure, values)


def join(parts: Parts) -> Tensor:
    """The nested tensor of these components, which must be consistent."""
    if parts.values.requires_grad and pellucid.is_grad_enabled():
        return cast(Tensor, _WithValues.apply(parts.values, parts))
    return _make(parts, parts.values)


def joined(pieces: Sequence[Tensor], like: Parts | None, axis: int) -> Tensor:
    """The nested tensor of examples: jagged where ``axis`` is positive, of the
    structure of ``like`` if it has the same numbers of rows and no holes.
    """
    if axis < 1:
        structure: Any = Pieces([piece.shape for piece in pieces])
        flat = [piece.reshape(-1) for piece in pieces]
        return join(Parts(-1, structure, pellucid.cat(flat) if flat else _nothing()))
    counts = [piece.shape[axis - 1] for piece in pieces]
    values = pellucid.cat(list(pieces), axis - 1)
    is_packed = like is not None and like.is_jagged and not like.has_holes
    if like is not None and is_packed and like.structure.counts == counts:
        return like.with_values(values, axis)
    return join(Parts(axis, ragged_of_counts(counts, values.device), values))


def _nothing() -> Tensor:
    return pellucid.empty(0)


def _make(parts: Parts, values: Tensor) -> Tensor:
    structure = parts.structure
    if parts.is_jagged:
        inner = list(values.shape)
        numel = values.numel()
        if structure.lengths is not None:
            rows = max(inner[parts.axis - 1], 1)
            numel = numel // rows * sum(structure.counts)
        inner[parts.axis - 1] = structure.longest
        sizes = [len(structure.spans), *inner]
        layout = pellucid.jagged
    else:
        examples = structure.sizes
        sizes = [len(examples), *(max(each) for each in zip(*examples, strict=True))]
        numel, layout = values.numel(), pellucid.strided
    made = _C._make_nested(layout, sizes, parts.axis, structure, numel, values)
    return cast(Tensor, made)


class _Values(Function):
    """The values of a nested tensor."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        axis, structure, values = _C._nested_kind(tensor)
        ctx.parts = Parts(axis, structure, values)
        return cast(Tensor, values.detach())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        parts: Parts = ctx.parts
        return parts.with_values(grad)


class _WithValues(Function):
    """The nested tensor of given values."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, parts: Parts) -> Tensor:
        ctx.parts = parts._replace(values=values.detach())
        return _make(parts, values)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        parts: Parts = ctx.parts
        given = split(grad)
        if given.structure is parts.structure or not parts.has_holes:
            return given.values.reshape(parts.values.shape), None
        filled = pellucid.zeros_like(parts.values)
        for place, piece in zip(
            parts._replace(values=filled).pieces(), given.pieces(), strict=True
        ):
            place.copy_(piece)
        return filled, None
