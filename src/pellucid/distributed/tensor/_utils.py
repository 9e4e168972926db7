"""Sizes and offsets of a process's shard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid.distributed.tensor.placement_types import (
    Placement,
    Shard,
    _StridedShard,
)

__all__ = ["compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(
    global_shape: Sequence[int], mesh: Any, placements: Sequence[Placement]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes of this process's shard of a tensor, and the offset of its first
    element.

    ``mesh`` has its sizes (``mesh.shape``) and this process's coordinates
    (``mesh.get_coordinate()``).
    """
    sizes, offsets = list(global_shape), [0] * len(global_shape)
    place = mesh.get_coordinate()
    if place is None:  # a process that is not in the mesh holds nothing
        return (0,), ()
    for number, placement in enumerate(placements):
        if isinstance(placement, _StridedShard):
            raise NotImplementedError("strided shards have no single first element")
        if isinstance(placement, Shard):
            dim = placement.dim
            sizes[dim], first = Shard.local_shard_size_and_offset(
                sizes[dim], mesh.shape[number], place[number]
            )
            offsets[dim] += first
    return tuple(sizes), tuple(offsets)
