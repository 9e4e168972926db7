"""Whether an op may run on parts as it is: which of its sizes become those of a part,
and whether it would use such a size where that of the whole is meant.

Called by ``shard.py``, once the strategies of all steps are chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Graph, Node, Requirement
from pellucid_compiler.ir.primitives import CALL, LIBRARY, LOOP, RESHAPE
from pellucid_compiler.ir.sizes import size_value
from pellucid_compiler.ir.traversal import symbols
from pellucid_compiler.transforms.flat_graph import FlatGraph
from pellucid_compiler.transforms.shard_rules import Split, State, Strategy, loop_bodies
from pellucid_compiler.transforms.shard_windows import part_ranges


def part_size(whole: int, ranks: int, place: int) -> int:
    """The size of a process's part."""
    first, end = part_ranges(whole, ranks)[place]
    return end - first


def different_places(wholes: Iterable[int], ranks: int) -> list[int]:
    """Processes that have every combination of sizes of parts that occurs."""
    found = {0, ranks - 1}
    for whole in wholes:
        last = whole // -(-whole // ranks) if whole else 0  # has the rest
        found |= {last, last + 1}
    return sorted(place for place in found if place < ranks)


def local_numbers(
    graph: Graph,
    flat: FlatGraph,
    states: Mapping[int, State],
    chosen: Sequence[Strategy],
    env: Mapping[str, Any],
    ranks: int,
) -> tuple[str, ...] | None:
    """The call's numbers that are sizes of a part; None if the op, run on parts, would
    use such a size where that of the whole is meant, or refuses the size of a part.
    """
    changed: set[str] = set()
    for value, number in zip(graph.inputs, flat.inputs, strict=True):
        state = states[number]
        if isinstance(state, Split):
            size = value.shape[state.dim]
            if size.op != "sym":
                return None
            changed.add(size.attr)
    changed |= set(_shared_sizes(flat, chosen))
    for requirement in graph.requirements:
        _follow(requirement.condition, changed)
    wholes = [env[name] for name in changed]
    for place in different_places(wholes, ranks):
        parts = _Parts(env, frozenset(changed), ranks, place)
        if not _are_parts(graph, flat, states, chosen, parts):
            return None
    return tuple(sorted(name for name in changed if "." not in name))


def requirements(graph: Graph) -> Iterator[Requirement]:
    """Those of the Graph and of the Graphs that it calls, which name the same sizes."""
    yield from graph.requirements
    for node in graph.nodes:
        if node.primitive is CALL:
            yield from requirements(node.attrs.body)


def _follow(condition: Expr, changed: set[str]) -> None:
    """A size that must equal a part's size is a part's size too."""
    if condition.op == "eq" and all(side.op == "sym" for side in condition.args):
        names = {side.attr for side in condition.args}
        if names & changed:
            changed |= names


def holds(condition: Expr, env: Mapping[str, Any]) -> bool:
    """Whether a requirement on sizes holds; one that depends on data does."""
    try:
        return bool(size_value(condition, env))
    except KeyError:  # that depends on data
        return True


class _Parts:
    """The sizes on one process."""

    def __init__(
        self, env: Mapping[str, Any], changed: frozenset[str], ranks: int, place: int
    ) -> None:
        self.env, self.changed, self.ranks, self.place = env, changed, ranks, place
        own = {name: part_size(env[name], ranks, place) for name in changed}
        self.local = {**env, **own}

    def agree(self, shape: Sequence[Expr], state: State) -> bool:
        """Whether a value has the right sizes when the op runs on parts."""
        for dim, size in enumerate(shape):
            is_split = isinstance(state, Split) and state.dim == dim
            try:
                expected = int(size_value(size, self.env))
                if is_split:
                    expected = part_size(expected, self.ranks, self.place)
                if size_value(size, self.local) != expected:
                    return False
            except KeyError:  # that depends on data
                if is_split:
                    return False
        return True

    def are_in(self, exprs: Iterable[Expr]) -> bool:
        """Whether sizes of parts are in the expressions."""
        return any(e.attr in self.changed for e in symbols(*exprs))


def _are_parts(
    graph: Graph,
    flat: FlatGraph,
    states: Mapping[int, State],
    chosen: Sequence[Strategy],
    parts: _Parts,
) -> bool:
    """Whether every value has the sizes of its state when the Graph runs on parts."""
    if not all(holds(r.condition, parts.local) for r in requirements(graph)):
        return False
    inputs = zip(graph.inputs, flat.inputs, strict=True)
    steps = zip(flat.steps, chosen, strict=True)
    return all(parts.agree(v.shape, states[k]) for v, k in inputs) and all(
        _runs_on_parts(step.node, strategy, parts) for step, strategy in steps
    )


def _shared_sizes(flat: FlatGraph, chosen: Sequence[Strategy]) -> Iterator[str]:
    """The names of the sizes of shared axes."""
    for step, strategy in zip(flat.steps, chosen, strict=True):
        attrs = step.node.attrs
        if strategy.step is not None:
            yield from _shared_sizes(FlatGraph(attrs.step), strategy.step[1])
        elif strategy.axis is not None or strategy.dim is not None:
            is_axis = strategy.axis is not None
            size = (attrs.extents if is_axis else attrs.shape)[
                strategy.axis if is_axis else strategy.dim
            ]
            if size.op == "sym":
                yield size.attr


def _runs_on_parts(node: Node, strategy: Strategy, parts: _Parts) -> bool:
    attrs = node.attrs
    if node.primitive is LOOP:
        axis = None if strategy.axis is None else Split(strategy.axis)
        return (
            parts.agree(attrs.extents, axis)
            and parts.agree(attrs.shape, strategy.results[0])
            and not parts.are_in(loop_bodies(attrs))
        )
    if node.primitive is RESHAPE:
        return parts.agree(attrs.shape, strategy.results[0])
    if strategy.step is not None:
        states, chosen = strategy.step
        flat = FlatGraph(attrs.step)
        return parts.agree([attrs.length], None) and _are_parts(
            attrs.step, flat, states, chosen, parts
        )
    if node.primitive is LIBRARY:
        pairs = zip(node.outputs, strategy.results, strict=True)
        return all(parts.agree(value.shape, state) for value, state in pairs)
    exprs = node.primitive.exprs(attrs)
    inner = [e for body in node.primitive.bodies(attrs) for e in _graph_exprs(body)]
    return not parts.are_in([*exprs, *inner])


def _graph_exprs(graph: Graph) -> Iterator[Expr]:
    for value in graph.inputs:
        yield from value.shape
    for node in graph.nodes:
        yield from node.primitive.exprs(node.attrs)
        for body in node.primitive.bodies(node.attrs):
            yield from _graph_exprs(body)
