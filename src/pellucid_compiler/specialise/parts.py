"""A call on a process's parts: its arguments, and whether its results are parts.

An op looks at sizes when it is traced: it drops or broadcasts dims of one element. On
parts it may see such a dim where the whole has more. Called by
``pellucid.distributed.tensor``. Read first: transforms/shard.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pellucid_compiler.declare.key import specialise
from pellucid_compiler.declare.op import Op
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.sizes import shape_value
from pellucid_compiler.specialise.requests import TensorLike
from pellucid_compiler.transforms.shard import Plan
from pellucid_compiler.transforms.shard_rules import Split, State
from pellucid_compiler.transforms.shard_sizes import (
    different_places,
    holds,
    part_size,
    requirements,
)


def size_at(
    whole: int, is_split: Sequence[bool], mesh: Sequence[int], places: Sequence[int]
) -> int:
    """The size of a part that some dims of a mesh split, at a process's coordinates."""
    for split, ranks, place in zip(is_split, mesh, places, strict=True):
        whole = part_size(whole, ranks, place) if split else whole
    return whole


def shape_at(
    whole: Sequence[int],
    states: Sequence[State],
    mesh: Sequence[int],
    places: Sequence[int],
) -> tuple[int, ...]:
    """The shape of a part."""
    return tuple(
        size_at(size, [state == Split(dim) for state in states], mesh, places)
        for dim, size in enumerate(whole)
    )


def numbers_at(
    plans: Sequence[Plan],
    env: Mapping[str, Any],
    mesh: Sequence[int],
    places: Sequence[int],
) -> dict[str, int]:
    """The numbers of a call that are sizes of parts, there."""
    names = {name for plan in plans for name in plan.numbers}
    return {
        name: size_at(env[name], [name in p.numbers for p in plans], mesh, places)
        for name in sorted(names)
    }


def results_are_parts(
    op: Op,
    values: Sequence[Any],
    graph: Graph,
    env: Mapping[str, Any],
    plans: Sequence[Plan],
    mesh: Sequence[int],
) -> bool:
    """Whether a call with TensorLikes, one value per argument, is accepted and gives
    the parts that its plans say on every process. A plan for each mesh dim.
    """
    wholes = [size for value in values for size in _sizes(value)]
    choices = [different_places(wholes, ranks) for ranks in mesh]
    for places in itertools.product(*choices):
        tensors = itertools.count()

        def part(x: Any, tensors: Any = tensors, places: Any = places) -> Any:
            states = [plan.needs[k] for k in [next(tensors)] for plan in plans]
            return TensorLike(str(x.dtype), shape_at(x.shape, states, mesh, places))

        numbers = numbers_at(plans, env, mesh, places)
        call = specialise(
            op.schema, with_parts(op, values, part, numbers), {}, op.options.numbers
        )
        made = op.trace(call.key, call.env).nominal
        if not all(holds(r.condition, call.env) for r in requirements(made)):
            return False
        for k, (result, whole) in enumerate(
            zip(made.outputs, graph.outputs, strict=True)
        ):
            states = [plan.results[k] for plan in plans]
            expected = shape_at(shape_value(whole.shape, env), states, mesh, places)
            if shape_value(result.shape, call.env) != expected:
                return False
    return True


def with_parts(
    op: Op, values: Sequence[Any], part: Any, numbers: Mapping[str, int]
) -> list[Any]:
    """One value per argument, with ``part(tensor)`` for each tensor, in order, and
    other numbers.
    """

    def replaced(name: str, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [replaced(f"{name}[{k}]", item) for k, item in enumerate(value)]
        if hasattr(value, "ndim") and hasattr(value, "dtype"):
            return part(value)
        return numbers.get(name, value)

    pairs = zip(op.schema.arguments, values, strict=True)
    return [replaced(argument.name, value) for argument, value in pairs]


def _sizes(value: Any) -> Iterator[int]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _sizes(item)
    elif hasattr(value, "ndim"):
        yield from value.shape
    elif isinstance(value, int) and value > 0:
        yield value
