"""The spec of a DTensor: its mesh, placements, full shape and strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pellucid.distributed.tensor.placement_types import Placement, Replicate, Shard


class Spec(NamedTuple):
    """A DTensor without its values. ``spec_of`` returns one object for equal specs on a
    mesh: they are compared by identity, here and in C++ (python/part_calls.h).
    """

    mesh: Any
    placements: tuple[Placement, ...]
    shape: tuple[int, ...]
    stride: tuple[int, ...]


_MOST_SPECS = 4096  # of a mesh


def whole_strides(local: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """Dense strides of the full tensor in the order of the shard's memory."""
    order = sorted(range(len(shape)), key=lambda d: (local.stride(d), -d))
    strides, step = [0] * len(shape), 1
    for dim in order:
        if local.stride(dim) == 0 and local.shape[dim] > 1:
            continue  # expanded
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def spec_of(
    local: Any, mesh: Any, placements: Sequence[Placement], shape: Sequence[int]
) -> Spec:
    """The spec of a shard of a tensor with the full shape."""
    return known_spec(
        mesh, tuple(placements), tuple(shape), whole_strides(local, shape)
    )


def known_spec(
    mesh: Any,
    placements: tuple[Placement, ...],
    shape: tuple[int, ...],
    stride: tuple[int, ...],
) -> Spec:
    """The spec of these facts."""
    specs: dict[Any, Spec] = mesh.__dict__.setdefault("_specs", {})
    key = placements, shape, stride
    found = specs.get(key)
    if found is None:
        if len(specs) >= _MOST_SPECS:
            specs.clear()
        found = specs[key] = Spec(mesh, *key)
    return found


def checked_placements(
    mesh: Any, placements: Sequence[Placement] | None, rank: int
) -> tuple[Placement, ...]:
    """One placement per mesh dim, with dims from 0 on; replicated by default."""
    if placements is None:
        return (Replicate(),) * int(mesh.ndim)
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found "
            f"placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    found: list[Placement] = []
    for placement in placements:
        if isinstance(placement, Shard):
            dim = placement.dim + rank if placement.dim < 0 else placement.dim
            if not 0 <= dim < rank:
                raise ValueError(f"{placement} of a tensor with {rank} dims")
            placement = Shard(dim)
        found.append(placement)
    return tuple(found)
