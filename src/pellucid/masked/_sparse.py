"""Masks of sparse tensors, of which an element is present if it is stored. Used by
the reductions of ``_reductions.py`` and by masked tensors.
"""

from __future__ import annotations

from typing import Any

import pellucid
from pellucid import Tensor
from pellucid.sparse._ops.conversions import convert
from pellucid.sparse._ops.dense import dense_to_coo, values_at
from pellucid.sparse._ops.parts import COO, Parts, coo, is_sparse, split
from pellucid.sparse._ops.patterns import coalesced
from pellucid.sparse._ops.reductions import reduce_stored


def broadcast_mask(mask: Tensor, input: Tensor) -> Tensor:
    """A mask as bools, in the layout of the input; of its size, if that is sparse."""
    mask = mask if mask.dtype is pellucid.bool else mask.to(pellucid.bool)
    if not is_sparse(input):
        return mask.to_dense() if is_sparse(mask) else mask
    if is_sparse(mask) and mask.shape == input.shape:
        return convert(mask, input.layout)
    whole = (mask.to_dense() if is_sparse(mask) else mask).expand(input.shape)
    dims = input.sparse_dim() if input.layout is COO else input.dim()
    return convert(dense_to_coo(whole, dims), input.layout)


def stored_in(mask: Tensor, input: Tensor, fill: Any) -> Tensor:
    """The elements of a sparse tensor where a mask of its layout is true: 0 where the
    input stores none; ``fill`` where the mask is false within a stored slice.
    """
    if input.layout is not COO:
        made = stored_in(convert(mask, COO), convert(input, COO), fill)
        return convert(made, input.layout)
    parts = split(coalesced(mask))
    is_within = parts.values
    chosen = is_within.flatten(1).any(1) if is_within.dim() > 1 else is_within
    places = chosen.nonzero().squeeze(1)
    is_within = is_within.index_select(0, places)
    indices = parts.indices.index_select(1, places)
    pattern = parts._replace(structure=(indices,), values=is_within)
    values = values_at(input, pattern)
    values = values.where(is_within, values.new_full((), fill))
    return coo(indices, values, parts.size, True)


def reduced(
    name: str,
    input: Tensor,
    dims: list[int],
    keepdim: bool,
    mask: Tensor | None,
    fill: Any,
) -> Tensor:
    """The reduction of the stored elements in the mask; sparse."""
    if mask is None and name != "sum":
        layout = str(input.layout).removeprefix("torch.")
        raise ValueError(
            f"masked {name} expects explicit mask for {layout} tensor input"
        )
    if mask is None:
        return reduce_stored(input, dims, keepdim, name)
    mask = broadcast_mask(mask, input)
    input = stored_in(mask, input, fill)
    if name != "mean":
        return reduce_stored(input, dims, keepdim, name)
    total = reduce_stored(input, dims, keepdim, "sum")
    counted = stored_in(mask, mask, False).to(pellucid.int64)
    count = split(reduce_stored(counted, dims, keepdim, "sum")).values
    parts = split(total)
    return parts.with_values(parts.values / count)


def of_one_pattern(data: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Data and mask of one layout, coalesced, with the mask's pattern."""
    data, mask = coalesced(data), coalesced(mask)
    stored, pattern = split(data), split(mask)
    if stored.nnz != pattern.nnz:
        stored = pattern._replace(values=values_at(data, pattern))
    if not have_equal_patterns(stored, pattern):
        raise ValueError(
            f"data and mask are both {data.layout} tensors but do not have the same "
            "indices."
        )
    return pattern.with_values(stored.values), mask


def have_equal_patterns(first: Parts, second: Parts) -> bool:
    """Whether both store the same positions, in the same order."""
    return first.layout is second.layout and all(
        map(pellucid.equal, first.structure, second.structure)
    )
