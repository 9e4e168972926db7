"""How an op's operands and results may be distributed when processes share its work:
the strategies of its Graph's steps, combined.

A beam search: each step multiplies the plans so far by its own strategies
(``shard_rules.py``), and only the cheapest are pursued. A plan whose sizes would be
wrong on parts is dropped (``shard_sizes.py``). Called by
``pellucid.distributed.tensor``. Read next: ``shard_rules.py``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pellucid_compiler.ir.graph import Graph, Node
from pellucid_compiler.ir.primitives import SCAN
from pellucid_compiler.ir.sizes import shape_value
from pellucid_compiler.transforms.flat_graph import FlatGraph, Step
from pellucid_compiler.transforms.shard_rules import (
    Joined,
    Split,
    State,
    Strategy,
    Window,
    strategies,
)
from pellucid_compiler.transforms.shard_sizes import (
    holds,
    local_numbers,
)
from pellucid_compiler.transforms.shard_windows import part_ranges

_MOST_STATES = 300  # of a Graph's values, while its loops' rules are combined


class Plan(NamedTuple):
    """The required state of each input of a Graph, and the resulting state of each
    output.

    ``numbers`` are those of the call's numbers that become the size of the process's
    part. ``cost`` counts the elements that move. ``chosen`` has each step's strategy;
    ``joins`` says before which step an intermediate value is combined. ``entered``:
    the replicated inputs whose gradients are partial sums; None if one is the sum of a
    whole one and a partial one.
    """

    needs: tuple[State, ...]
    results: tuple[State, ...]
    cost: float
    numbers: tuple[str, ...]
    chosen: tuple[Strategy, ...] = ()
    joins: tuple[tuple[int, int], ...] = ()
    entered: tuple[bool, ...] | None = ()


def moving_cost(have: State, want: State, elements: int) -> float | None:
    """The cost of redistributing a value; None if that is not possible."""
    if have == want:
        return 0
    if isinstance(want, Window):
        split = moving_cost(have, Split(want.dim), elements)
        return None if split is None else split + _window_cost(want, elements)
    if want is None:
        return elements + 1 if isinstance(have, Split) else 2 * elements + 1
    if have is None:
        if isinstance(want, Split):
            return 0.25
        return 0.5 if want.combine == "sum" else None
    if isinstance(want, Split):
        return elements + 1
    return None


def _window_cost(window: Window, elements: int) -> float:
    """The elements that a process receives for its window."""
    owned = part_ranges(window.size, len(window.ranges))
    missing = [
        max(own[0] - first, 0) + max(end - own[1], 0)
        for (first, end), own in zip(window.ranges, owned, strict=True)
    ]
    return max(missing) * elements / max(window.size, 1) + 1


class _Partial(NamedTuple):
    """A choice for the steps so far."""

    states: dict[int, State]
    cost: float
    chosen: tuple[Strategy, ...]
    joins: tuple[tuple[int, int], ...] = ()


class Talk(NamedTuple):
    """Which values may be combined inside: only sums if gradients are wanted, unless no
    gradient reaches the value.
    """

    flat: FlatGraph
    env: Mapping[str, Any]
    has_gradient: bool

    def cost(self, number: int, have: State, want: State) -> float | None:
        """The cost of combining a value; None if that is not allowed."""
        if want is not None or not isinstance(have, Joined):
            return None
        if number in self.flat.inputs:
            return None
        is_sum = have.combine == "sum" or not self.has_gradient
        if not is_sum and not self.flat.is_detached(number):
            return None
        shape = self.flat.values[number].shape
        return 2 * _product(shape_value(shape, self.env)) + 1


def plans(
    graph: Graph,
    given: Sequence[State],
    env: Mapping[str, Any],
    ranks: int,
    free: Sequence[int] = (),
) -> list[Plan]:
    """Every plan that the beam search finds, cheapest first. ``free`` inputs may be in
    any state: random words.
    """
    flat = FlatGraph(graph)
    found: dict[Any, Plan] = {}
    for partial in _search(graph, flat, given, env, ranks, free, None):
        numbers = local_numbers(graph, flat, partial.states, partial.chosen, env, ranks)
        if numbers is None:
            continue
        plan = _plan(flat, partial, numbers)
        found.setdefault((plan.needs, plan.results), plan)
    return sorted(found.values(), key=lambda plan: plan.cost)


def staged_plans(
    graph: Graph,
    given: Sequence[State],
    env: Mapping[str, Any],
    ranks: int,
    has_gradient: bool = False,
) -> list[Plan]:
    """Plans that combine values inside the op, which then runs in stages (stages.py);
    cheapest first.
    """
    if not all(holds(r.condition, env) for r in graph.requirements):
        return []
    flat = FlatGraph(graph)
    talk = Talk(flat, env, has_gradient)
    found: dict[Any, Plan] = {}
    for partial in _search(graph, flat, given, env, ranks, (), talk):
        plan = _plan(flat, partial, ())
        found.setdefault((plan.needs, plan.results), plan)
    return sorted(found.values(), key=lambda plan: plan.cost)


def _plan(flat: FlatGraph, partial: _Partial, numbers: tuple[str, ...]) -> Plan:
    needs = tuple(partial.states[number] for number in flat.inputs)
    results = tuple(partial.states[number] for number in flat.outputs)
    entered = _entered(flat, partial)
    chosen, joins = partial.chosen, partial.joins
    return Plan(needs, results, partial.cost, numbers, chosen, joins, entered)


def _entered(flat: FlatGraph, partial: _Partial) -> tuple[bool, ...] | None:
    """Which inputs' gradients are partial sums. That of a replicated value is one if a
    shared step reads it, and whole if it is a result.
    """
    is_partial: dict[int, set[bool]] = {}

    def add(numbers: Iterable[int], kinds: set[bool]) -> None:
        for number in numbers:
            is_varying = flat.values[number].differentiable
            if is_varying and partial.states[number] is None:
                is_partial.setdefault(number, set()).update(kinds)

    add(flat.outputs, {False})
    for step, strategy in [*zip(flat.steps, partial.chosen, strict=True)][::-1]:
        made = [is_partial.get(number, set()) for number in step.outputs]
        add(step.inputs, {True} if strategy.is_shared else set().union(*made))
    found = [is_partial.get(number, set()) for number in flat.inputs]
    return None if any(len(k) > 1 for k in found) else tuple(True in k for k in found)


def _search(
    graph: Graph,
    flat: FlatGraph,
    given: Sequence[State],
    env: Mapping[str, Any],
    ranks: int,
    free: Sequence[int],
    talk: Talk | None,
) -> list[_Partial]:
    sizes = [_product(shape_value(value.shape, env)) for value in graph.inputs]
    costs = {
        number: (state, 0 if k in free else size)
        for k, (number, state, size) in enumerate(
            zip(flat.inputs, given, sizes, strict=True)
        )
    }
    unread = {n: costs[n] for n in flat.inputs if n not in flat.read}
    frontier = [_Partial({n: have for n, (have, _) in unread.items()}, 0.0, ())]
    if any(have is not None for have, _ in unread.values()):
        moves = [moving_cost(have, None, size) for have, size in unread.values()]
        total = sum(cost for cost in moves if cost is not None)
        frontier.append(_Partial(dict.fromkeys(unread), total, ()))
    for step in flat.steps:
        choices = strategies(step.node, env, ranks, talk is not None)
        if step.node.primitive is SCAN and talk is None:
            choices += _scan_strategies(step.node, env, ranks)
        frontier = _extended(frontier, step, costs, choices, talk)
    return frontier


def _scan_strategies(
    node: Node, env: Mapping[str, Any], ranks: int
) -> Iterator[Strategy]:
    """Those of a scan's step in which carries keep their states: the time axis of
    sequences and results comes before the dims of the step.
    """
    attrs = node.attrs
    flat, count = FlatGraph(attrs.step), attrs.num_carries
    given = [None] * len(flat.inputs)
    constants = len(given) - attrs.num_constants
    for partial in _search(attrs.step, flat, given, env, ranks, (), None):
        needs = [partial.states[number] for number in flat.inputs]
        results = [partial.states[number] for number in flat.outputs]
        if needs[:count] == results[:count] and any((*needs, *results)):
            sequences = map(_stacked, needs[count:constants])
            yield Strategy(
                (*needs[:count], *sequences, *needs[constants:]),
                tuple(map(_stacked, results)),
                step=(partial.states, partial.chosen),
            )


def _stacked(state: State) -> State:
    return Split(state.dim + 1) if isinstance(state, Split) else state


def _extended(
    frontier: list[_Partial],
    step: Step,
    costs: Mapping[int, tuple[State, int]],
    choices: list[Strategy],
    talk: Talk | None,
) -> list[_Partial]:
    fresh: dict[Any, _Partial] = {}
    for partial, strategy in itertools.product(frontier, choices):
        states, cost, joins = dict(partial.states), partial.cost, partial.joins
        for number, need in zip(step.inputs, strategy.needs, strict=True):
            if number not in states:
                have, elements = costs[number]
                moved = moving_cost(have, need, elements)
            elif states[number] == need:
                continue
            else:
                moved = talk and talk.cost(number, states[number], need)
                joins = (*joins, (len(partial.chosen), number))
            if moved is None:
                break
            states[number], cost = need, cost + moved
        else:
            states.update(zip(step.outputs, strategy.results, strict=True))
            key = tuple(sorted(states.items(), key=lambda item: item[0]))
            if key not in fresh or cost < fresh[key].cost:
                chosen = (*partial.chosen, strategy)
                fresh[key] = _Partial(states, cost, chosen, joins)
    return sorted(fresh.values(), key=lambda p: p.cost)[:_MOST_STATES]


def _product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result
