"""Structure: where elements are stored, as integer tensors.

An element's *key* is its position in row-major order over the sparse dims. Sorting
keys, finding one list of keys in another and counting rows are all that patterns need;
values then follow by gathers and sums, which have derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pellucid
from pellucid import Tensor
from pellucid.sparse._ops.parts import coo, split


def keys_of(indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """The key of each column of ``indices`` (dims, elements)."""
    if not len(sizes):
        return indices.new_zeros(indices.shape[-1])
    found = indices[0]
    for dim in range(1, len(sizes)):
        found = found * sizes[dim] + indices[dim]
    return found


def indices_of(keys: Tensor, sizes: Sequence[int]) -> Tensor:
    """The inverse of ``keys_of``: (dims, elements)."""
    rows = []
    for size in reversed(sizes):
        rows.append(keys % max(size, 1))
        keys = keys // max(size, 1)
    if not rows:
        return keys.new_zeros((0, len(keys)))
    return pellucid.stack(rows[::-1])


def distinct(keys: Tensor) -> tuple[Tensor, Tensor]:
    """(the distinct keys in order, the number of each element's key among them)."""
    if not len(keys):
        return keys, keys
    in_order, order = keys.sort()
    is_first = pellucid.ones(len(keys), dtype=pellucid.bool, device=keys.device)
    pellucid.ne(in_order[1:], in_order[:-1], out=is_first[1:])
    numbers = pellucid.empty_like(keys)
    numbers[order] = is_first.cumsum(0) - 1
    return in_order[is_first], numbers


def sum_groups(values: Tensor, numbers: Tensor, count: int) -> Tensor:
    """The sums of the values with each number, in the order of the values."""
    if values.dtype is pellucid.bool:
        whole = sum_groups(values.to(pellucid.uint8), numbers, count)
        return whole != 0
    return values.new_zeros((count, *values.shape[1:])).index_add(0, numbers, values)


def coalesced(tensor: Tensor) -> Tensor:
    """A COO tensor with sorted, distinct indices: itself, if it has them."""
    parts = split(tensor)
    if parts.is_coalesced:
        return tensor
    indices, values = coalesced_pair(parts.indices, parts.values, parts.sparse_size)
    return coo(indices, values, parts.size, True)


def coalesced_pair(
    indices: Tensor, values: Tensor, sizes: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Sorted distinct indices and the sums of the values at each."""
    keys, numbers = distinct(keys_of(indices, sizes))
    if len(keys) == len(numbers):  # a permutation, if anything
        summed = values.new_empty(values.shape).index_copy(0, numbers, values)
    else:
        summed = sum_groups(values, numbers, len(keys))
    return indices_of(keys, sizes), summed


def find(wanted: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """(where each wanted key is among sorted ``keys``, whether it is there)."""
    if not len(keys):
        return pellucid.zeros_like(wanted), pellucid.zeros_like(
            wanted, dtype=pellucid.bool
        )
    places = pellucid.searchsorted(keys, wanted).clamp_max(len(keys) - 1)
    return places, keys[places] == wanted


def take_where(values: Tensor, places: Tensor, is_there: Tensor) -> Tensor:
    """``values[places]``, and 0 where nothing is."""
    if not len(values):
        return values.new_zeros((len(places), *values.shape[1:]))
    shape = (-1, *[1] * (values.dim() - 1))
    found = values.index_select(0, places)
    return found.where(is_there.reshape(shape), found.new_zeros(()))


def row_numbers(pointers: Tensor, count: int) -> Tensor:
    """The row of each of ``count`` elements, whose rows begin at ``pointers``."""
    places = pellucid.arange(count, dtype=pointers.dtype, device=pointers.device)
    return pellucid.searchsorted(pointers[1:].contiguous(), places, right=True)


def pointers_of(rows: Tensor, count: int) -> Tensor:
    """Where each of ``count`` rows begins, and the last one ends, in sorted rows."""
    borders = pellucid.arange(count + 1, dtype=rows.dtype, device=rows.device)
    return pellucid.searchsorted(rows.contiguous(), borders)


def ranges(starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """Of ranges one behind the other: (the number of the range, the place) of each."""
    total = int(lengths.sum())
    owners = pellucid.arange(len(lengths), device=lengths.device).repeat_interleave(
        lengths, output_size=total
    )
    first = lengths.cumsum(0) - lengths
    places = pellucid.arange(total, device=lengths.device)
    return owners, starts[owners] + places - first[owners]


def product_of(sizes: Sequence[int]) -> int:
    """The number of positions, which keys must be able to count."""
    total = math.prod(sizes)
    if total >= 1 << 63:
        raise RuntimeError(
            f"a sparse tensor whose sparse dims have the sizes {tuple(sizes)} has more "
            "positions than 64 bits can count"
        )
    return total
