"""Whether an op may run on parts as it is: which of its sizes become those of a part,
and whether it would use such a size where that of the whole is meant.

Called by ``shard.py``, once the strategies of all steps are chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Graph, Node
from pellucid_compiler.ir.primitives import LOOP, RESHAPE
from pellucid_compiler.ir.sizes import size_value
from pellucid_compiler.ir.traversal import symbols
from pellucid_compiler.transforms.flat_graph import FlatGraph, Step
from pellucid_compiler.transforms.shard_rules import Split, State, Strategy, loop_bodies


def has_plain_sizes(step: Step, strategy: Strategy) -> bool:
    """Whether sizes that become those of a part are separate symbols."""
    split = [
        value.shape[state.dim]
        for value, state in zip(step.node.inputs, strategy.needs, strict=True)
        if isinstance(state, Split)
    ]
    if isinstance(strategy.result, Split):
        split += [value.shape[strategy.result.dim] for value in step.node.outputs]
    if strategy.axis is not None:
        split.append(step.node.attrs.extents[strategy.axis])
    return all(size.op == "sym" for size in split)


def local_numbers(
    graph: Graph,
    flat: FlatGraph,
    states: Mapping[int, State],
    chosen: Sequence[Strategy],
    env: Mapping[str, Any],
    ranks: int,
) -> dict[str, int] | None:
    """The sizes that are those of a part; None if the op, run on parts, would use such
    a size where that of the whole is meant.
    """
    changed: dict[str, int] = {}

    def part(size: Expr) -> int:
        return -(-int(size_value(size, env)) // ranks)

    for value, number in zip(graph.inputs, flat.inputs, strict=True):
        state = states[number]
        if isinstance(state, Split):
            size = value.shape[state.dim]
            if size.op != "sym":
                return None
            changed[size.attr] = part(size)
    for step, strategy in zip(flat.steps, chosen, strict=True):
        shared = _shared_size(step.node, strategy)
        if shared is not None and shared.op == "sym":
            changed[shared.attr] = part(shared)
    for requirement in graph.requirements:
        _follow(requirement.condition, changed)
    local = {**env, **changed}
    if not all(
        holds(requirement.condition, local) for requirement in graph.requirements
    ):
        return None
    for value, number in zip(graph.inputs, flat.inputs, strict=True):
        if not _agrees(value.shape, states[number], env, local, part):
            return None
    for step, strategy in zip(flat.steps, chosen, strict=True):
        if not _runs_on_parts(step.node, strategy, env, local, part, changed):
            return None
    return {name: size for name, size in changed.items() if "." not in name}


def _follow(condition: Expr, changed: dict[str, int]) -> None:
    """A size that must equal a part's size is a part's size too."""
    if condition.op != "eq" or any(side.op != "sym" for side in condition.args):
        return
    first, second = (side.attr for side in condition.args)
    if first in changed:
        changed.setdefault(second, changed[first])
    elif second in changed:
        changed[first] = changed[second]


def holds(condition: Expr, env: Mapping[str, Any]) -> bool:
    """Whether a requirement on sizes holds; one that depends on data does."""
    try:
        return bool(size_value(condition, env))
    except KeyError:  # that depends on data
        return True


def _shared_size(node: Node, strategy: Strategy) -> Expr | None:
    if strategy.axis is not None:
        return node.attrs.extents[strategy.axis]  # type: ignore[no-any-return]
    if strategy.dim is not None:
        return node.attrs.shape[strategy.dim]  # type: ignore[no-any-return]
    return None


def _agrees(
    shape: Sequence[Expr],
    state: State,
    env: Mapping[str, Any],
    local: Mapping[str, Any],
    part: Any,
) -> bool:
    """Whether a value has the right sizes when the op runs on parts."""
    for dim, size in enumerate(shape):
        is_split = isinstance(state, Split) and state.dim == dim
        try:
            expected = part(size) if is_split else size_value(size, env)
            if size_value(size, local) != expected:
                return False
        except KeyError:  # that depends on data
            if is_split:
                return False
    return True


def _runs_on_parts(
    node: Node,
    strategy: Strategy,
    env: Mapping[str, Any],
    local: Mapping[str, Any],
    part: Any,
    changed: Mapping[str, int],
) -> bool:
    attrs = node.attrs
    if node.primitive is LOOP:
        axis = None if strategy.axis is None else Split(strategy.axis)
        if not _agrees(attrs.extents, axis, env, local, part):
            return False
        if not _agrees(attrs.shape, strategy.result, env, local, part):
            return False
        return not any(s.attr in changed for s in symbols(*loop_bodies(attrs)))
    if node.primitive is RESHAPE:
        return _agrees(attrs.shape, strategy.result, env, local, part)
    exprs = node.primitive.exprs(attrs)
    inner = [e for body in node.primitive.bodies(attrs) for e in _graph_exprs(body)]
    return not any(s.attr in changed for s in symbols(*exprs, *inner))


def _graph_exprs(graph: Graph) -> Iterator[Expr]:
    for value in graph.inputs:
        yield from value.shape
    for node in graph.nodes:
        yield from node.primitive.exprs(node.attrs)
        for body in node.primitive.bodies(node.attrs):
            yield from _graph_exprs(body)
