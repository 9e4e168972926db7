"""Redistributes from one set of placements to another, one mesh dim at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pellucid.distributed.tensor import _moves
from pellucid.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
)


def line_of(mesh: Any, mesh_dim: int) -> _moves.Line:
    """The processes along a mesh dim."""
    place = mesh.get_local_rank(mesh_dim)
    return _moves.Line(mesh.get_group(mesh_dim), mesh.size(mesh_dim), place)


def local_size(
    mesh: Any, placements: Sequence[Placement], shape: Sequence[int], dim: int, end: int
) -> int:
    """The size of a dim after the first ``end`` mesh dims have split it."""
    size = shape[dim]
    for mesh_dim, placement in enumerate(placements[:end]):
        if placement.is_shard(dim):
            size = line_of(mesh, mesh_dim).part(size)[0]
    return size


def _touches(placements: Sequence[Placement], mesh_dim: int, *dims: int) -> bool:
    """Whether another mesh dim splits one of the dims."""
    others = [p for k, p in enumerate(placements) if k != mesh_dim]
    return any(p.is_shard(dim) for p in others for dim in dims)


def redistribute_local(
    local: Any,
    mesh: Any,
    shape: Sequence[int],
    current: Sequence[Placement],
    target: Sequence[Placement],
) -> Any:
    """This process's shard under other placements; gradients are redistributed back."""
    if tuple(current) == tuple(target):
        return local
    have = list(current)
    for mesh_dim in reversed(range(len(have))):
        local = _open(local, mesh, shape, have, target, mesh_dim)
    for mesh_dim, want in enumerate(target):
        line = line_of(mesh, mesh_dim)
        if have[mesh_dim] == want:
            continue
        if isinstance(want, Shard):
            local = _moves.Slice.apply(line, want.dim, local)
        elif isinstance(want, Partial):
            if want.reduce_op != "sum":
                raise RuntimeError(f"a replicated tensor cannot become {want}")
            local = _moves.Part.apply(line, local)
        have[mesh_dim] = want
    return local


def _open(
    local: Any,
    mesh: Any,
    shape: Sequence[int],
    have: list[Placement],
    target: Sequence[Placement],
    mesh_dim: int,
) -> Any:
    """Replicates along a mesh dim, or moves directly if other mesh dims allow."""
    now, want = have[mesh_dim], target[mesh_dim]
    line = line_of(mesh, mesh_dim)
    if isinstance(now, Shard):
        outer = zip(have[:mesh_dim], target[:mesh_dim], strict=True)
        is_carried = any(a != b and (a.is_shard(now.dim) or b.is_shard(now.dim))
                         for a, b in outer)  # fmt: skip
        if now == want and not is_carried:
            return local
        whole = local_size(mesh, have, shape, now.dim, mesh_dim)
        is_alone = isinstance(want, Shard) and not (
            _touches(have, mesh_dim, now.dim, want.dim)
            or _touches(target, mesh_dim, now.dim, want.dim)
        )
        if isinstance(want, Shard) and is_alone and want != now:
            have[mesh_dim] = want
            return _moves.Exchange.apply(line, (now.dim, want.dim), whole, local)
        have[mesh_dim] = Replicate()
        return _moves.Gather.apply(line, now.dim, whole, local)
    if isinstance(now, Partial) and now != want:
        is_alone = isinstance(want, Shard) and not (
            _touches(have, mesh_dim, want.dim) or _touches(target, mesh_dim, want.dim)
        )
        if isinstance(want, Shard) and is_alone and now.reduce_op in ("sum", "avg"):
            have[mesh_dim] = want
            return _moves.JoinPart.apply(line, want.dim, now.reduce_op, local)
        have[mesh_dim] = Replicate()
        return _moves.Join.apply(line, now.reduce_op, local)
    return local
