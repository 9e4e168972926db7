"""Ops that combine values inside: their stages run on shards, with collectives between
them, each of one number per row in a softmax, a norm, a loss or attention over a
sharded dim.

The engine derives the plans and the stages' ops (specialise/staged.py). A stage is an
ordinary op with derivatives; `_moves.py` combines values, so gradients need as little
communication as values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pellucid import _C
from pellucid.distributed.tensor import _moves
from pellucid.distributed.tensor._redistribute import line_of
from pellucid.distributed.tensor._spec import spec_of
from pellucid.distributed.tensor.placement_types import Partial, Replicate
from pellucid_compiler.specialise.staged import Size, StageCall, Staged


class StagedRule(NamedTuple):
    """A plan along one mesh dim, and the ops of its stages."""

    plan: Staged
    mesh_dim: int
    functions: tuple[Callable[..., Any], ...]


def staged_rule(plan: Staged, mesh_dim: int) -> StagedRule:
    """The rule of a plan."""
    functions = [_C._op_of_origin(stage.schema, stage.origin) for stage in plan.stages]
    return StagedRule(plan, mesh_dim, tuple(functions))


def run_staged(rule: StagedRule, mesh: Any, parts: Sequence[Any]) -> list[Any]:
    """This process's shards of the results. The parts may be DTensors of other mesh
    dims, and the results are then.
    """
    plan, line = rule.plan, line_of(mesh, rule.mesh_dim)
    values = dict(zip(plan.given, parts, strict=True))
    inner = next((x for x in parts if hasattr(x, "_spec")), None)
    for number, window in plan.windows.items():
        values[number] = moved(_moves.WithNeighbours, (line, window), values[number])
    for stage, function in zip(plan.stages, rule.functions, strict=True):
        for number, combine in stage.joins:
            given = line, combine
            values[number] = moved(_moves.Join, given, values[number], combine)
        made = _run(stage, function, line, [values[number] for number in stage.inputs])
        if inner is not None and not stage.inputs:
            made = [_replicated(x, inner) for x in made]
        values.update(zip(stage.outputs, made, strict=True))
    return [values[number] for number in plan.outputs]


def _replicated(x: Any, like: Any) -> Any:
    """What a stage makes of sizes alone, as a DTensor beside another."""
    mesh = like._spec.mesh
    return type(like)(x, spec_of(x, mesh, [Replicate()] * mesh.ndim, x.shape))


def moved(move: Any, given: tuple[Any, ...], x: Any, combine: str = "") -> Any:
    """A part after a move. Of a DTensor of other mesh dims, its own
    part moves; what is still to be combined otherwise along those is combined first.
    """
    spec = getattr(x, "_spec", None)
    if spec is None:
        return move.apply(*given, x)
    partial = [p for p in spec.placements if isinstance(p, Partial)]
    if combine and any(p.reduce_op != combine for p in partial):
        placements = [Replicate() if p in partial else p for p in spec.placements]
        x = x.redistribute(placements=placements)
    local = move.apply(*given, x._local_tensor)
    changed = zip(x.shape, x._local_tensor.shape, local.shape, strict=True)
    shape = [size if old == new else new for size, old, new in changed]
    spec = spec_of(local, x._spec.mesh, x._spec.placements, shape)
    return type(x)(local, spec)


def entered(line: _moves.Line, x: Any) -> Any:
    """A replicated operand of sharded work: its gradient is summed."""
    local = getattr(x, "_local_tensor", x)
    return moved(_moves.Enter, (line,), x) if local.requires_grad else x


def _run(
    stage: StageCall, function: Callable[..., Any], line: _moves.Line, operands: Any
) -> Any:
    if stage.is_shared:
        pairs = zip(operands, stage.needs, strict=True)
        operands = [entered(line, x) if need is None else x for x, need in pairs]
    given: list[Any] = list(operands)
    if stage.sizes:
        given.append([_size(size, line) for size in stage.sizes])
    if stage.numbers:
        given.append(list(stage.numbers))
    made = function(*given)
    return made if len(stage.outputs) > 1 else (made,)


def _size(size: Size, line: _moves.Line) -> int:
    if size.kind == "whole":
        return size.extent
    if size.kind == "start":
        return size.starts[line.place]
    count, first = line.part(size.extent)
    return count if size.kind == "part" else first
