"""Redistributes from one set of placements to another, one mesh dim at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import pellucid as torch
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


class Step(NamedTuple):
    """A move of this process's part along one mesh dim: called with it, it gives the
    part that follows.
    """

    move: Any  # a Function of _moves.py
    given: tuple[Any, ...]  # before the part
    mesh_dim: int
    before: Placement
    after: Placement
    num_received: int = 0  # elements that a process receives

    def __call__(self, part: Any) -> Any:
        return self.move.apply(*self.given, part)

    def start(self) -> Callable[[Any], Any]:
        """The same as a function, which is called in less time."""
        return partial(self.move.apply, *self.given)


_MOST_STEPS = 4096  # of a mesh


def steps_between(
    mesh: Any,
    shape: Sequence[int],
    current: Sequence[Placement],
    target: Sequence[Placement],
) -> tuple[Step, ...]:
    """The moves from some placements of a tensor with the shape to others."""
    known: dict[Any, tuple[Step, ...]] = mesh.__dict__.setdefault("_steps", {})
    key = tuple(shape), tuple(current), tuple(target)
    found = known.get(key)
    if found is None:
        if len(known) >= _MOST_STEPS:
            known.clear()
        found = known[key] = tuple(_steps(mesh, *key))
    return found


def _steps(
    mesh: Any,
    shape: tuple[int, ...],
    current: tuple[Placement, ...],
    target: tuple[Placement, ...],
) -> Iterator[Step]:
    if current == target:
        return
    have = list(current)
    for mesh_dim in reversed(range(len(have))):
        yield from _opening(mesh, shape, have, target, mesh_dim)
    for mesh_dim, want in enumerate(target):
        line, now = line_of(mesh, mesh_dim), have[mesh_dim]
        if now == want:
            continue
        if isinstance(want, Shard):
            yield Step(_moves.Slice, (line, want.dim), mesh_dim, now, want)
        elif isinstance(want, Partial):
            if want.reduce_op != "sum":
                raise RuntimeError(f"a replicated tensor cannot become {want}")
            yield Step(_moves.Part, (line,), mesh_dim, now, want)
        have[mesh_dim] = want


def _num_elements(mesh: Any, have: Sequence[Placement], shape: Sequence[int]) -> int:
    """Of this process's part."""
    dims = range(len(shape))
    return math.prod(local_size(mesh, have, shape, dim, mesh.ndim) for dim in dims)


def _opening(
    mesh: Any,
    shape: Sequence[int],
    have: list[Placement],
    target: Sequence[Placement],
    mesh_dim: int,
) -> Iterator[Step]:
    """Replicates along a mesh dim, or moves directly if other mesh dims allow."""
    now, want = have[mesh_dim], target[mesh_dim]
    line, whole = line_of(mesh, mesh_dim), Replicate()
    before = _num_elements(mesh, have, shape)
    others = line.size - 1
    if isinstance(now, Shard):
        outer = zip(have[:mesh_dim], target[:mesh_dim], strict=True)
        is_carried = any(a != b and (a.is_shard(now.dim) or b.is_shard(now.dim))
                         for a, b in outer)  # fmt: skip
        if now == want and not is_carried:
            return
        size = local_size(mesh, have, shape, now.dim, mesh_dim)
        is_alone = isinstance(want, Shard) and not (
            _touches(have, mesh_dim, now.dim, want.dim)
            or _touches(target, mesh_dim, now.dim, want.dim)
        )
        if isinstance(want, Shard) and is_alone and want != now:
            have[mesh_dim] = want
            given: tuple[Any, ...] = line, (now.dim, want.dim), size
            count = _num_elements(mesh, have, shape) * others // line.size
            yield Step(_moves.Exchange, given, mesh_dim, now, want, count)
            return
        have[mesh_dim] = whole
        given, count = (line, now.dim, size), _num_elements(mesh, have, shape) - before
        yield Step(_moves.Gather, given, mesh_dim, now, whole, count)
    elif isinstance(now, Partial) and now != want:
        is_alone = isinstance(want, Shard) and not (
            _touches(have, mesh_dim, want.dim) or _touches(target, mesh_dim, want.dim)
        )
        if isinstance(want, Shard) and is_alone and now.reduce_op in ("sum", "avg"):
            have[mesh_dim] = want
            given, count = (line, want.dim, now.reduce_op), before * others // line.size
            yield Step(_moves.JoinPart, given, mesh_dim, now, want, count)
            return
        have[mesh_dim] = whole
        given, count = (line, now.reduce_op), 2 * before * others // line.size
        yield Step(_moves.Join, given, mesh_dim, now, whole, count)


def redistribute_local(
    local: Any,
    mesh: Any,
    shape: Sequence[int],
    current: Sequence[Placement],
    target: Sequence[Placement],
) -> Any:
    """This process's part under other placements; its gradient goes the way back."""
    for step in steps_between(mesh, shape, current, target):
        local = step(local)
    return local


def of_gradient(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """The placements of a gradient: replicated for a partial sum."""
    return tuple(Replicate() if p.is_partial() else p for p in placements)


class DtypesOfMove(NamedTuple):
    """Those of a tensor, of the moved one, and of its gradient while it moves back."""

    own: torch.dtype
    forward: torch.dtype
    backward: torch.dtype

    @property
    def are_equal(self) -> bool:
        """Whether nothing is cast."""
        return self.own == self.forward == self.backward


class _MovedInDtypes(torch.autograd.Function):
    """A part under other placements, of another dtype. Autograd casts the gradient that
    arrives at a node to the dtype of its result, so one node makes all moves.
    """

    @staticmethod
    def forward(ctx: Any, facts: Any, dtypes: DtypesOfMove, local: Any) -> Any:
        ctx.facts, ctx.dtypes = facts, dtypes
        mesh, _, current, target = facts
        moved = redistribute_local(local.to(dtypes.forward), *facts)
        ctx.divisor = 1
        for mesh_dim, (have, want) in enumerate(zip(current, target, strict=True)):
            if isinstance(have, Partial) and have != want:
                if have.reduce_op == "avg":
                    ctx.divisor *= mesh.size(mesh_dim)
                elif have.reduce_op != "sum":
                    ctx.mark_non_differentiable(moved)
        return moved.view_as(moved) if moved is local else moved

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        mesh, shape, current, target = ctx.facts
        back = mesh, shape, of_gradient(target), of_gradient(current)
        moved = redistribute_local(grad.to(ctx.dtypes.backward), *back)
        moved = moved / ctx.divisor if ctx.divisor > 1 else moved
        return None, None, moved.to(ctx.dtypes.own)


def redistribute_in_dtypes(
    local: Any,
    mesh: Any,
    shape: Sequence[int],
    current: Sequence[Placement],
    target: Sequence[Placement],
    dtypes: DtypesOfMove,
) -> Any:
    """This process's part under other placements, communicated in other dtypes than its
    own, forth and back.
    """
    facts = mesh, shape, current, target
    return _MovedInDtypes.apply(facts, dtypes, local)
