"""Conversions between layouts: every sparse tensor has a *grid*, its elements as COO.

The grid of a compressed tensor has its batch dims and two more, over rows and columns
of blocks if the layout has them: blocks are further dims of the values. Functions of
patterns work on grids; ``from_grid`` converts one back to a compressed tensor.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.sparse._ops.parts import (
    BLOCK_LAYOUTS,
    COO,
    ROW_LAYOUTS,
    Parts,
    coo,
    join,
    split,
)
from pellucid.sparse._ops.patterns import (
    coalesced,
    grouped,
    keys_of,
    pointers_of,
    product_of,
    row_numbers,
    sum_groups,
)


def block_of(parts: Parts) -> tuple[int, int]:
    """The sizes of a block; (1, 1) if the layout has none."""
    if parts.layout not in BLOCK_LAYOUTS:
        return 1, 1
    first = parts.structure[0].dim()
    rows, columns = parts.values.shape[first : first + 2]
    return int(rows), int(columns)


def batch_dims(parts: Parts) -> int:
    """The number of a compressed tensor's dims before the rows: its batch dims."""
    return parts.structure[0].dim() - 1


def as_grid(tensor: Tensor) -> Parts:
    """The elements of any sparse tensor as COO parts."""
    return grid_of(split(tensor))


def grid_of(parts: Parts) -> Parts:
    """The elements of a sparse tensor's parts as COO parts."""
    if parts.layout is COO:
        return parts
    pointers, plain = parts.structure
    by_rows = parts.layout in ROW_LAYOUTS
    batch = batch_dims(parts)
    if batch:
        indices = pellucid._convert_indices_from_csr_to_coo(
            pointers, plain, transpose=not by_rows
        ).to(pellucid.int64)
    else:
        lines = row_numbers(pointers, len(plain))
        plain = plain.to(pellucid.int64)
        indices = pellucid.stack([lines, plain] if by_rows else [plain, lines])
    rows, columns = block_of(parts)
    values = parts.values.flatten(0, batch)
    base = (parts.size[batch] // rows, parts.size[batch + 1] // columns)
    sparse_size = (*parts.size[:batch], *base)
    size = (*sparse_size, *values.shape[1:])
    return Parts(COO, size, batch + 2, by_rows, (indices,), values)


def from_grid(grid: Parts, layout: Any, size: tuple[int, ...]) -> Tensor:
    """A tensor of ``layout`` and ``size`` from a coalesced grid."""
    if layout is COO:
        return join(grid)
    batch = grid.sparse_dims - 2
    by_rows = layout in ROW_LAYOUTS
    if not batch and by_rows and grid.is_coalesced:
        rows, columns = grid.indices
        structure = (pointers_of(rows, grid.size[0]), columns)
        return join(Parts(layout, size, 2, True, structure, grid.values))
    order = [*range(batch), *((batch, batch + 1) if by_rows else (batch + 1, batch))]
    sizes = [grid.sparse_size[d] for d in order]
    indices, values = grid.indices[order], grid.values
    if not (by_rows and grid.is_coalesced):
        places = keys_of(indices, sizes).argsort(stable=True)
        indices, values = indices[:, places], values.index_select(0, places)
    count, outer = _per_example(indices, sizes, batch), sizes[batch]
    shape = tuple(sizes[:batch])
    rows = keys_of(indices[: batch + 1], sizes[: batch + 1])
    borders = pointers_of(rows, product_of(sizes[: batch + 1]))
    starts = borders[:-1].reshape(*shape, outer)
    if shape:
        first = starts[..., :1]
        last = pellucid.full_like(first, count)
        pointers = pellucid.cat([starts - first, last], -1)
    else:
        pointers = borders
    structure = (pointers, indices[-1].reshape(*shape, count).contiguous())
    values = values.reshape(*shape, count, *values.shape[1:])
    return join(Parts(layout, size, 2, True, structure, values))


def _per_example(indices: Tensor, sizes: list[int], batch: int) -> int:
    total = indices.shape[1]
    if not batch:
        return total
    examples = product_of(sizes[:batch])
    owners = keys_of(indices[:batch], sizes[:batch])
    counts = pellucid.bincount(owners, minlength=examples)
    if not bool((counts == counts[:1]).all()):
        raise RuntimeError(
            "Expect the same number of specified elements per batch: they have "
            f"{counts.tolist()[:8]}"
        )
    return total // max(examples, 1)


def convert(tensor: Tensor, layout: Any, block: Any = None) -> Tensor:
    """A sparse tensor in another layout; ``block`` for BSR and BSC."""
    parts = split(tensor)
    wanted = tuple(block) if block is not None else None
    if parts.layout is layout and wanted in (None, block_of(parts)):
        return tensor
    blocked = layout in BLOCK_LAYOUTS
    if blocked and wanted is None:
        wanted = block_of(parts)
    is_blocked = parts.layout in BLOCK_LAYOUTS
    if blocked is not is_blocked or (blocked and wanted != block_of(parts)):
        unblocked = _without_blocks(tensor)
        if layout is COO:
            return unblocked
        if blocked:
            assert wanted is not None
            return _into_blocks(unblocked, layout, wanted)
        return from_grid(split(coalesced(unblocked)), layout, parts.size)
    grid = as_grid(tensor)
    if not grid.is_coalesced:
        grid = split(coalesced(join(grid)))
    if layout is not COO and grid.sparse_dims != 2 + grid_batch(parts):
        raise RuntimeError(
            f"a COO tensor with {grid.sparse_dims} sparse dims has no form in the "
            "layout "
            f"{layout}: it takes 2"
        )
    return from_grid(grid, layout, parts.size)


def grid_batch(parts: Parts) -> int:
    """The number of a tensor's batch dims in a compressed layout."""
    return 0 if parts.layout is COO else batch_dims(parts)


def _without_blocks(tensor: Tensor) -> Tensor:
    """Converts to a coalesced COO tensor over single elements."""
    parts, grid = split(tensor), as_grid(tensor)
    (rows, columns), batch = block_of(parts), grid.sparse_dims - 2
    inside = pellucid.arange(rows * columns, device=grid.indices.device)
    spread = grid.indices.unsqueeze(-1).repeat(1, 1, rows * columns)
    spread[batch] = spread[batch] * rows + inside // columns
    spread[batch + 1] = spread[batch + 1] * columns + inside % columns
    values = grid.values
    if parts.layout in BLOCK_LAYOUTS:
        values = values.flatten(0, 2)
    return coalesced(coo(spread.flatten(1), values, parts.size, False))


def _into_blocks(tensor: Tensor, layout: Any, block: tuple[int, ...]) -> Tensor:
    """Converts a COO tensor with two sparse dims to BSR or BSC."""
    parts = split(tensor)
    check_blocks(parts.size, parts.sparse_dims - 2, block, layout)
    rows, columns = block
    batch = parts.sparse_dims - 2
    outer = parts.indices.clone()
    outer[batch] //= rows
    outer[batch + 1] //= columns
    sizes = list(parts.sparse_size)
    sizes[batch] //= rows
    sizes[batch + 1] //= columns
    groups = grouped(outer, sizes)
    inner = parts.indices[batch] % rows * columns + parts.indices[batch + 1] % columns
    places = groups.of_elements() * (rows * columns) + inner
    summed = sum_groups(parts.values, places, groups.total * rows * columns)
    values = summed.reshape(groups.total, rows, columns, *parts.values.shape[1:])
    grid_size = (*sizes, *values.shape[1:])
    grid = Parts(COO, grid_size, parts.sparse_dims, True, (groups.indices,), values)
    return from_grid(grid, layout, parts.size)


def check_blocks(
    size: tuple[int, ...], batch: int, block: tuple[int, ...], layout: Any
) -> None:
    """Raises RuntimeError unless blocks tile the two sparse dims."""
    name = str(layout).rpartition("_")[2]
    if len(block) != 2 or min(block) <= 0:
        raise RuntimeError(
            f"dense_to_sparse_{name}: blocksize needs to be two positive numbers, not "
            f"{tuple(block)}"
        )
    rows, columns = size[batch : batch + 2]
    if rows % block[0] or columns % block[1]:
        raise RuntimeError(
            f"dense_to_sparse_{name}: tensor sparse size ({rows},{columns}) must be "
            f"divisible by given blocksize ({block[0]},{block[1]})"
        )
