"""Sparsity patterns: positions of stored elements, as integer tensors.

An element's *key* is its position in row-major order over the sparse dims. Sorting
keys, merging lists of keys and counting rows are routines of the runtime
(``runtime/library/patterns.h``); values follow by gathers and sums, which have
derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pellucid
from pellucid import _C, Tensor
from pellucid.sparse._ops.parts import Parts, coo, gradient_rules, join, split


def keys_of(indices: Tensor, sizes: Sequence[int]) -> Tensor:
    """The key of each column of ``indices`` (dims, elements)."""
    if not len(sizes):
        return indices.new_zeros(indices.shape[-1])
    found = indices[0]
    for dim in range(1, len(sizes)):
        found = found * sizes[dim] + indices[dim]
    return found


def _routine(function: Callable[..., Any], *given: Any) -> Any:
    """Calls a routine on tensors, whose operands and results are in host memory. On
    Meta, as if all keys were distinct.
    """
    device = next(each.device for each in given if isinstance(each, Tensor))
    change = _stand_ins() if device.type == "meta" else _vector
    found = function(
        *(change(each) if isinstance(each, Tensor) else each for each in given)
    )
    if device.type == "cpu":
        return found
    if isinstance(found, tuple):
        return tuple(each.to(device) for each in found)
    return found.to(device) if isinstance(found, Tensor) else found


def _vector(tensor: Tensor) -> Tensor:
    """A tensor as routines need it: contiguous int64 on the host."""
    tensor = tensor.resolve_neg()
    if tensor.dtype is pellucid.int64 and tensor.device.type == "cpu":
        return tensor if tensor.is_contiguous() else tensor.contiguous()
    return tensor.to(device="cpu", dtype=pellucid.int64).contiguous()


def _stand_ins() -> Callable[[Tensor], Tensor]:
    """A function that gives keys on the host for tensors without elements."""
    begun = 0

    def make(tensor: Tensor) -> Tensor:
        nonlocal begun
        first, begun = begun, begun + tensor.numel()
        return pellucid.arange(first, begun)

    return make


def indices_of(keys: Tensor, sizes: Sequence[int]) -> Tensor:
    """The inverse of ``keys_of``: (dims, elements)."""
    found: Tensor = _routine(_C._unravelled_keys, keys, sizes)
    return found


class Groups(NamedTuple):
    """The elements of a pattern, grouped by position."""

    indices: Tensor  # the distinct positions in row-major order: (dims, groups)
    order: Tensor  # the elements, group by group
    numbers: Tensor  # the group of each of these

    @property
    def total(self) -> int:
        """The number of groups."""
        return int(self.indices.shape[1])

    def of_elements(self) -> Tensor:
        """The group of each element, in the order in which they were given."""
        return pellucid.empty_like(self.numbers).index_copy(0, self.order, self.numbers)

    def sum(self, values: Tensor) -> Tensor:
        """The sum of the values of each group's elements, in their order."""
        sorted_values = values.index_select(0, self.order)
        if self.total == len(self.order):
            return sorted_values
        return sum_groups(sorted_values, self.numbers, self.total)


def grouped(indices: Tensor, sizes: Sequence[int]) -> Groups:
    """Groups the columns of ``indices`` (dims, elements)."""
    if indices.device.type == "meta":  # as if all were distinct
        order = indices.new_empty(indices.shape[1])
        return Groups(indices, order, order)
    return Groups(*_routine(_C._grouped_indices, indices, sizes))


def united(first: Tensor, second: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(the union of two lists of sorted distinct keys, the index of each in the first
    list, in the second list); the list's length if it is absent.
    """
    found: tuple[Tensor, Tensor, Tensor] = _routine(_C._merged_keys, first, second)
    return found


def united_rows(
    first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The union of two patterns, each (pointers of rows, sorted columns): (pointers,
    columns, indices in the first, in the second) as in ``united``.
    """
    found: tuple[Tensor, Tensor, Tensor, Tensor]
    found = _routine(_C._merged_rows, *first, *second)
    return found


def sum_groups(values: Tensor, numbers: Tensor, count: int) -> Tensor:
    """Segment sums of the values by number, in the order of the values."""
    if values.dtype is pellucid.bool:
        whole = sum_groups(values.to(pellucid.uint8), numbers, count)
        return whole != 0
    return values.new_zeros((count, *values.shape[1:])).index_add(0, numbers, values)


def coalesced(tensor: Tensor) -> Tensor:
    """A COO tensor with sorted, distinct indices; the tensor itself if it has them or
    has another layout.
    """
    if _C._sparse_kind(tensor)[1]:
        return tensor
    parts = split(tensor)
    indices, values = coalesced_pair(parts.indices, parts.values, parts.sparse_size)
    return coo(indices, values, parts.size, True)


def coalesced_pair(
    indices: Tensor, values: Tensor, sizes: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """Sorted distinct indices and the sums of the values at each."""
    groups = grouped(indices, sizes)
    return groups.indices, groups.sum(values)


def without_repetitions(parts: Parts) -> Tensor:
    """The coalesced tensor of these components, whose values are equal for duplicates
    of a position: the gradient of a sum with respect to its terms.
    """
    if parts.is_coalesced:
        return join(parts)
    groups = grouped(parts.indices, parts.sparse_size)
    order = groups.order
    one = order.new_empty(groups.total).index_copy(0, groups.numbers, order)
    values = parts.values.index_select(0, one)
    return coo(groups.indices, values, parts.size, True)


gradient_rules["with each position once"] = without_repetitions


def find(wanted: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """(the index of each wanted key in sorted ``keys``, whether it is present)."""
    if not len(keys):
        return pellucid.zeros_like(wanted), pellucid.zeros_like(
            wanted, dtype=pellucid.bool
        )
    places = pellucid.searchsorted(keys, wanted).clamp_max(len(keys) - 1)
    return places, keys[places] == wanted


def take_or_zero(values: Tensor, places: Tensor) -> Tensor:
    """``values[places]``, and 0 for the index after the last one."""
    zero = values.new_zeros((1, *values.shape[1:]))
    return pellucid.cat([values, zero]).index_select(0, places)


def take_where(values: Tensor, places: Tensor, is_there: Tensor) -> Tensor:
    """``values[places]``, and 0 for absent elements."""
    if not len(values):
        return values.new_zeros((len(places), *values.shape[1:]))
    shape = (-1, *[1] * (values.dim() - 1))
    found = values.index_select(0, places)
    return found.where(is_there.reshape(shape), found.new_zeros(()))


def row_numbers(pointers: Tensor, count: int) -> Tensor:
    """The row of each of ``count`` elements, from the row offsets ``pointers``."""
    if pointers.is_meta:
        return pointers.new_empty(count)
    found: Tensor = _routine(_C._row_numbers, pointers, count)
    return found


def pointers_of(rows: Tensor, count: int) -> Tensor:
    """The offsets of ``count`` rows, and the end, from sorted rows."""
    if rows.is_meta:
        return rows.new_empty(count + 1)
    found: Tensor = _routine(_C._row_pointers, rows, count)
    return found


def longest_row(pointers: Tensor) -> int:
    """The maximum number of elements in a row; on Meta any number does."""
    if pointers.is_meta:
        return 0
    return int(_routine(_C._longest_row, pointers))


def multiplied(
    first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], num_columns: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The pattern of the product of two matrices, each (row pointers, columns):
    (pointers, columns, each term's index in the first, in the second, in the product).
    """
    found: tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
    found = _routine(_C._multiplied_patterns, *first, *second, num_columns)
    return found


def ranges(starts: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """For each element of concatenated ranges: (the index of the range, the
    position).
    """
    total = int(lengths.sum())
    owners = pellucid.arange(len(lengths), device=lengths.device).repeat_interleave(
        lengths, output_size=total
    )
    first = lengths.cumsum(0) - lengths
    places = pellucid.arange(total, device=lengths.device)
    return owners, starts[owners] + places - first[owners]


def product_of(sizes: Sequence[int]) -> int:
    """The number of positions, which must fit into a key."""
    total = math.prod(sizes)
    if total >= 1 << 63:
        raise RuntimeError(
            f"a sparse tensor whose sparse dims have the sizes {tuple(sizes)} has more "
            "positions than 64 bits can count"
        )
    return total
