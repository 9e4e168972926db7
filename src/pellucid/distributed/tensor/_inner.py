"""What a nested call would do along a mesh's other dims, on each process of the first.

Processes choose plans by the sizes of their own parts. Those of the first mesh dim may
have parts of different sizes, and must still choose alike: else their results would
have different placements. So a call is nested only if all of them do, which each finds
out by itself. Called by ``_rules.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pellucid.distributed.tensor.placement_types import Partial, Placement, Replicate
from pellucid_compiler.ir.sizes import shape_value
from pellucid_compiler.specialise.parts import numbers_at, shape_at, with_parts
from pellucid_compiler.specialise.requests import TensorLike
from pellucid_compiler.specialise.staged import Size, Staged
from pellucid_compiler.transforms.shard import Plan
from pellucid_compiler.transforms.shard_windows import part_ranges

Placements = tuple[Placement, ...]


class Rules(NamedTuple):
    """``_rules.py``'s, for the other mesh dims: the declaration of a call, and how it
    runs.
    """

    traced: Callable[..., Any]
    share: Callable[..., Any]


class _Value(NamedTuple):
    tensor: TensorLike
    placements: Placements


def _made(rules: Rules, name: str, overload: str, args: Any) -> list[_Value]:
    """The results of a call on ``_Value``s; those without a rule are replicated."""
    given: list[Placements] = []

    def tensor(x: Any) -> Any:
        if isinstance(x, _Value):
            given.append(x.placements)
            return x.tensor
        return list(map(tensor, x)) if isinstance(x, (list, tuple)) else x

    values = list(map(tensor, args))
    _, call, graph = rules.traced(name, overload, values, {})
    shared = rules.share(name, overload, values, {}, given)
    whole = (Replicate(),) * (len(given[0]) if given else 1)
    made = []
    for number, value in enumerate(graph.outputs):
        found = whole if shared is None else shared.results[number][0]
        shape = shape_value(value.shape, call.env)
        padded = (*found, *whole[len(found) :])
        made.append(_Value(TensorLike(str(value.dtype), shape), padded))
    return made


def made_by_plan(
    rules: Rules,
    op: Any,
    values: Sequence[Any],
    plan: Plan,
    env: Any,
    given: Sequence[Placements],
    at: tuple[int, int],
) -> list[Placements]:
    """The placements of the results where ``at``: (number of processes, place)."""
    (ranks, place), count = at, iter(range(len(given)))

    def part(x: Any) -> Any:
        k = next(count)
        shape = shape_at(x.shape, [plan.needs[k]], [ranks], [place])
        return _Value(TensorLike(str(x.dtype), shape), given[k])

    numbers = numbers_at([plan], env, [ranks], [place])
    args = with_parts(op, values, part, numbers)
    made = _made(rules, op.name, op.schema.overload or "", args)
    return [value.placements for value in made]


def made_in_stages(
    rules: Rules,
    plan: Staged,
    tensors: Sequence[TensorLike],
    given: Sequence[Placements],
    at: tuple[int, int],
) -> list[Placements]:
    """The placements of the values between the stages, and of the results."""
    ranks, place = at
    values: dict[int, _Value] = {}
    for number, need, x, placed in zip(
        plan.given, plan.needs, tensors, given, strict=True
    ):
        shape = list(shape_at(x.shape, [need], [ranks], [place]))
        if number in plan.windows:
            window = plan.windows[number]
            first, end = window.ranges[place]
            shape[window.dim] = end - first
        values[number] = _Value(TensorLike(str(x.dtype), tuple(shape)), placed)
    seen = []
    for stage in plan.stages:
        for number, combine in stage.joins:
            values[number] = _combined(values[number], combine)
        args: list[Any] = [values[number] for number in stage.inputs]
        args += [[_size(s, ranks, place) for s in stage.sizes]] if stage.sizes else []
        args += [list(stage.numbers)] if stage.numbers else []
        made = _made(rules, stage.schema.partition("(")[0], "", args)
        values.update(zip(stage.outputs, made, strict=True))
        seen += [value.placements for value in made]
    return seen


def _combined(value: _Value, combine: str) -> _Value:
    """As ``_staged.moved`` leaves it: still partial only in the same way."""
    placements = tuple(
        Replicate() if isinstance(p, Partial) and p.reduce_op != combine else p
        for p in value.placements
    )
    return value._replace(placements=placements)


def _size(size: Size, ranks: int, place: int) -> int:
    if size.kind == "whole":
        return size.extent
    if size.kind == "start":
        return size.starts[place]
    first, end = part_ranges(size.extent, ranks)[place]
    return end - first if size.kind == "part" else first
