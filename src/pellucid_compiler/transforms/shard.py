"""How an op's operands and results may be distributed when processes share its work:
rules derived from the loops of its Graph.

Along one dimension of a mesh of processes, a value is replicated (None), split along a
dim (``Split``), or still to be combined (``Joined``). A loop determines everything:
sharding one of its axes splits the operands that the axis indexes, replicates the
others, and splits the result or leaves it to be combined; a body that is linear in
operands passes on their partial sums. ``plans`` combines the rules of a Graph's loops.
No op is named here.

Called by ``pellucid.distributed.tensor``. Read next: ir/primitives/loop.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pellucid_compiler.ir.expr import (
    LOADS,
    Expr,
    is_loaded,
    load_fill,
    load_index,
    symbols,
    uses_axis,
    walk,
)
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives import CALL, LOOP, RESHAPE
from pellucid_compiler.ir.sizes import shape_value, size_value


class Split(NamedTuple):
    """Each process has a part along the dim."""

    dim: int


class Joined(NamedTuple):
    """The value is the combination of the processes' values."""

    combine: str


State = Split | Joined | None

_REDUCES: Final = ("sum", "prod", "max", "min", "and", "or")
_MOST_STATES = 300  # of a Graph's values, while its loops' rules are combined


class Strategy(NamedTuple):
    """One way to share a node's work: the required states of the operands, and the
    states of the results.

    ``axis``: the loop axis that is sharded; None if sizes stay whole. ``dim``: for a
    reshape, the dim of the result that is split. ``owned``: an operand that is split
    along a dim with loaded indices: the rank that owns the element supplies it.
    """

    needs: tuple[State, ...]
    result: State
    axis: int | None = None
    dim: int | None = None
    owned: tuple[int, int] | None = None

    @property
    def is_shared(self) -> bool:
        """Whether the processes do different work."""
        return any(state is not None for state in (*self.needs, self.result))


class Plan(NamedTuple):
    """The required state of each input of a Graph, and the resulting state of each
    output.

    ``numbers`` are those of the call's numbers that are sizes of a part. ``cost``
    counts the elements that move. ``chosen`` has each step's strategy; ``joins`` says
    before which step an intermediate value is combined.
    """

    needs: tuple[State, ...]
    results: tuple[State, ...]
    cost: float
    numbers: Mapping[str, int]
    chosen: tuple[Strategy, ...] = ()
    joins: tuple[tuple[int, int], ...] = ()


# The rules of one loop


def _bodies(attrs: Any) -> list[Expr]:
    found = [body for store in attrs.stores for body in (store.body, *store.place)]
    return found if attrs.payload is None else [*found, attrs.payload]


def _reads(e: Expr, axis: int) -> bool:
    """Whether the axis's index itself, not only an element at it, is a value in e."""
    if e.op == "axis":
        return bool(e.attr == axis)
    if e.op in LOADS:
        inside = [i for i in load_index(e) if is_loaded(i)]
        fill = load_fill(e)
        return any(_reads(i, axis) for i in inside) or (
            fill is not None and _reads(fill, axis)
        )
    return any(_reads(argument, axis) for argument in e.args)


def is_axis(index: Expr, axis: int) -> bool:
    return index.op == "axis" and index.attr == axis


def _split_needs(
    node: Node, axis: int, env: Mapping[str, Any]
) -> dict[int, State] | None:
    """The required states of the operands if the axis is sharded; None if a process
    would need its neighbours' elements.
    """
    extent = size_value(node.attrs.extents[axis], env)
    needs: dict[int, State] = {}
    for e in walk(*_bodies(node.attrs)):
        if e.op not in LOADS:
            continue
        state: State = None
        for dim, index in enumerate(load_index(e)):
            if is_axis(index, axis):
                size = size_value(node.inputs[e.attr].shape[dim], env)
                if state is not None or size != extent:
                    return None
                state = Split(dim)
            elif uses_axis(index, {axis}) and not is_loaded(index):
                return None  # a window
        if needs.setdefault(e.attr, state) != state:
            return None
    return needs


def _result(attrs: Any, axis: int) -> State | bool:
    """The state of the result if the axis is sharded; False: there is none."""
    found: set[State | bool] = set()
    for store in attrs.stores:
        at = [dim for dim, index in enumerate(store.place) if is_axis(index, axis)]
        used = [
            dim
            for dim, index in enumerate(store.place)
            if uses_axis(index, {axis}) and not is_loaded(index)
        ]
        if len(at) == 1 and used == at:
            found.add(Split(at[0]))
        elif used or attrs.combine not in _REDUCES:
            found.add(False)
        else:
            found.add(Joined(attrs.combine))
    return found.pop() if len(found) == 1 else False


def reads_number(attrs: Any, axis: int) -> bool:
    """Whether an axis's index is a value in a loop's bodies."""
    return any(_reads(store.body, axis) for store in attrs.stores) or (
        attrs.payload is not None and _reads(attrs.payload, axis)
    )


def _axis_strategies(
    node: Node, env: Mapping[str, Any], is_staged: bool
) -> Iterator[Strategy]:
    attrs = node.attrs
    for axis in range(len(attrs.extents)):
        if not is_staged and reads_number(attrs, axis):
            continue
        needs, result = _split_needs(node, axis, env), _result(attrs, axis)
        if needs is None or result is False:
            continue
        assert not isinstance(result, bool)
        if attrs.init is not None:
            if not isinstance(result, Split):
                continue
            needs[attrs.init] = result
        states = tuple(needs.get(k) for k in range(len(node.inputs)))
        yield Strategy(states, result, axis)


class _Linearity(NamedTuple):
    """The operands that an expression reads, and the sets of operands in which it is
    linear, without a constant term, while the others are constant.
    """

    reads: frozenset[int]
    sets: frozenset[frozenset[int]] = frozenset()
    is_zero: bool = False


def _linearity(e: Expr, known: dict[int, _Linearity]) -> _Linearity:
    """The linearity of an expression; ``known`` has that of its parts, by identity."""
    if id(e) not in known:
        known[id(e)] = _linearity_of(e, known)
    return known[id(e)]


def _linearity_of(e: Expr, known: dict[int, _Linearity]) -> _Linearity:
    if e.op in LOADS:
        indices = [_linearity(index, known).reads for index in load_index(e)]
        places = frozenset().union(*indices)
        fill, own = load_fill(e), frozenset({e.attr})
        is_padded = fill is not None and not _linearity(fill, known).is_zero
        sets = {own} if not is_padded and e.attr not in places else set()
        return _Linearity(own | places, frozenset(sets))
    if e.op == "const" and not isinstance(e.attr, str) and e.attr == 0:
        return _Linearity(frozenset(), is_zero=True)
    parts = [_linearity(argument, known) for argument in e.args]
    if e.op == "with_partials":
        return parts[0]
    reads = frozenset().union(*(part.reads for part in parts))
    return _Linearity(reads, frozenset(_linear_sets(e.op, parts)))


def _linear_sets(op: str, parts: list[_Linearity]) -> Iterable[frozenset[int]]:
    """The sets of operands in which an op of such arguments is linear."""
    if op in ("add", "sub"):
        return _jointly(parts)
    if op in ("neg", "cast"):
        return parts[0].sets
    if op == "mul" and len(parts) == 2:
        first, second = parts
        return _beside(first.sets, second) + _beside(second.sets, first)
    if op == "div":
        return _beside(parts[0].sets, parts[1])
    if op == "select":
        return _beside(_jointly(parts[1:]), parts[0])
    return ()


def _beside(
    sets: Iterable[frozenset[int]], constant: _Linearity
) -> list[frozenset[int]]:
    """The sets of which another argument is independent."""
    return [s for s in sets if not (constant.is_zero or s & constant.reads)]


def _jointly(parts: Iterable[_Linearity]) -> list[frozenset[int]]:
    """The sets in which all parts are linear, or zero; none if all are zero."""
    terms = [part for part in parts if not part.is_zero]
    if not terms:
        return []
    found: set[frozenset[int]] = {frozenset()}
    reads: frozenset[int] = frozenset()
    for part in terms:
        found = {
            s | own for s in found for own in part.sets if s & part.reads == own & reads
        }
        reads |= part.reads
    return list(found)


def _linear_strategies(node: Node) -> Iterator[Strategy]:
    attrs = node.attrs
    if attrs.combine not in ("assign", "sum") or attrs.init is not None:
        return
    known: dict[int, _Linearity] = {}
    bodies = [_linearity(store.body, known) for store in attrs.stores]
    if any(body.is_zero for body in bodies):
        return
    for chosen in sorted(_jointly(bodies), key=lambda s: (len(s), sorted(s))):
        states = tuple(
            Joined("sum") if k in chosen else None for k in range(len(node.inputs))
        )
        yield Strategy(states, Joined("sum"))


def _owner_strategies(node: Node) -> Iterator[Strategy]:
    attrs = node.attrs
    if attrs.combine not in ("assign", "sum") or attrs.init is not None:
        return
    known: dict[int, _Linearity] = {}
    bodies = [_linearity(store.body, known) for store in attrs.stores]
    found = [e for e in walk(*_bodies(attrs)) if e.op in LOADS]
    for operand in sorted({e.attr for e in found}):
        own = [e for e in found if e.attr == operand]
        if any(e.op != "load" for e in own):
            continue
        alone = frozenset({operand})
        if not all(alone in body.sets for body in bodies):
            continue
        for dim in range(node.inputs[operand].rank):
            if all(is_loaded(load_index(e)[dim]) for e in own):
                needs: list[State] = [None] * len(node.inputs)
                needs[operand] = Split(dim)
                yield Strategy(tuple(needs), Joined("sum"), owned=(operand, dim))


# reshape is not a loop: the outermost dim of a group that is merged or split may be
# sharded.


def _groups(
    before: Sequence[int], after: Sequence[int]
) -> Iterator[tuple[range, range]]:
    """Runs of dims with equal products."""
    i = j = 0
    while i < len(before) or j < len(after):
        start, first = i, j
        left = right = 1
        while True:
            has_both = i > start and j > first
            if left == right and left > 0 and (has_both or left > 1):
                break
            if (left <= right or j == len(after)) and i < len(before):
                left *= before[i]
                i += 1
            elif j < len(after):
                right *= after[j]
                j += 1
            else:
                break
        yield range(start, i), range(first, j)


def _reshape_strategies(
    node: Node, env: Mapping[str, Any], ranks: int
) -> Iterator[Strategy]:
    (value,) = node.inputs
    before = shape_value(value.shape, env)
    after = shape_value(node.attrs.shape, env)
    yield Strategy((Joined("sum"),), Joined("sum"))
    for merged, parted in _groups(before, after):
        sources = [dim for dim in merged if before[dim] != 1] or list(merged)
        targets = [dim for dim in parted if after[dim] != 1] or list(parted)
        if not sources or not targets:
            continue
        source, target = sources[0], targets[0]
        is_same = before[source] == after[target]
        if is_same or (before[source] % ranks == 0 and after[target] % ranks == 0):
            yield Strategy((Split(source),), Split(target), dim=target)


def strategies(
    node: Node, env: Mapping[str, Any], ranks: int, is_staged: bool = False
) -> list[Strategy]:
    """Every way in which so many ranks can run a node without communication. In stages
    the offset of a part is available, so that indices of axes are those of the whole.
    """
    found = [Strategy((None,) * len(node.inputs), None)]
    if node.primitive is LOOP:
        found += [*_axis_strategies(node, env, is_staged), *_linear_strategies(node)]
        found += _owner_strategies(node) if is_staged else ()
    elif node.primitive is RESHAPE:
        found += _reshape_strategies(node, env, ranks)
    return found


# The rules of a Graph


class Step(NamedTuple):
    """A node, and the numbers of its values."""

    node: Node
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Flat:
    """A Graph's nodes with called Graphs copied in; values are numbered."""

    def __init__(self, graph: Graph) -> None:
        self.steps: list[Step] = []
        self._count = itertools.count()
        names = {value: next(self._count) for value in graph.inputs}
        self.inputs = [names[value] for value in graph.inputs]
        self._add(graph, names)
        self.outputs = [names[value] for value in graph.outputs]
        self.read = {number for step in self.steps for number in step.inputs}
        self.values = dict(zip(self.inputs, graph.inputs, strict=True))
        for step in self.steps:
            self.values.update(zip(step.outputs, step.node.outputs, strict=True))

    def is_detached(self, number: int) -> bool:
        """Whether no gradient reaches the value."""
        readers = [step for step in self.steps if number in step.inputs]
        return number not in self.outputs and all(
            _is_detached(step.node, k)
            for step in readers
            for k, other in enumerate(step.inputs)
            if other == number
        )

    def _add(self, graph: Graph, names: dict[Value, int]) -> None:
        for node in graph.nodes:
            given = tuple(names[value] for value in node.inputs)
            if node.primitive is CALL:
                body: Graph = node.attrs.body
                inner = dict(zip(body.inputs, given, strict=True))
                self._add(body, inner)
                made = tuple(inner[value] for value in body.outputs)
            else:
                made = tuple(next(self._count) for _ in node.outputs)
                self.steps.append(Step(node, given, made))
            names.update(zip(node.outputs, made, strict=True))


def _is_detached(node: Node, operand: int) -> bool:
    """Whether a loop reads the operand without a gradient to it."""
    if node.primitive is not LOOP:
        return False
    return all(
        body.op == "with_partials" and len(body.args) == 1
        for body in _bodies(node.attrs)
        if any(e.op in LOADS and e.attr == operand for e in walk(body))
    )


def moving_cost(have: State, want: State, elements: int) -> float | None:
    """The cost of redistributing a value; None if that is not possible."""
    if have == want:
        return 0
    if want is None:
        return elements + 1 if isinstance(have, Split) else 2 * elements + 1
    if have is None:
        if isinstance(want, Split):
            return 0.25
        return 0.5 if want.combine == "sum" else None
    if isinstance(want, Split):
        return elements + 1
    return None


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

    flat: Flat
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
    flat = Flat(graph)
    found: dict[Any, Plan] = {}
    for partial in _search(graph, flat, given, env, ranks, free, None):
        numbers = _local_numbers(graph, flat, partial, env, ranks)
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
    if not all(_holds(r.condition, env) for r in graph.requirements):
        return []
    flat = Flat(graph)
    talk = Talk(flat, env, has_gradient)
    found: dict[Any, Plan] = {}
    for partial in _search(graph, flat, given, env, ranks, (), talk):
        if all(map(_has_plain_sizes, flat.steps, partial.chosen)):
            plan = _plan(flat, partial, {})
            found.setdefault((plan.needs, plan.results), plan)
    return sorted(found.values(), key=lambda plan: plan.cost)


def _has_plain_sizes(step: Step, strategy: Strategy) -> bool:
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


def _plan(flat: Flat, partial: _Partial, numbers: Mapping[str, int]) -> Plan:
    needs = tuple(partial.states[number] for number in flat.inputs)
    results = tuple(partial.states[number] for number in flat.outputs)
    return Plan(needs, results, partial.cost, numbers, partial.chosen, partial.joins)


def _search(
    graph: Graph,
    flat: Flat,
    given: Sequence[State],
    env: Mapping[str, Any],
    ranks: int,
    free: Sequence[int],
    talk: Talk | None,
) -> list[_Partial]:
    sizes = [_product(shape_value(value.shape, env)) for value in graph.inputs]
    start = {
        number: state
        for number, state in zip(flat.inputs, given, strict=True)
        if number not in flat.read
    }
    costs = {
        number: (state, 0 if k in free else size)
        for k, (number, state, size) in enumerate(
            zip(flat.inputs, given, sizes, strict=True)
        )
    }
    frontier = [_Partial(start, 0.0, ())]
    for step in flat.steps:
        choices = strategies(step.node, env, ranks, talk is not None)
        frontier = _extended(frontier, step, costs, choices, talk)
    return frontier


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
            states.update(dict.fromkeys(step.outputs, strategy.result))
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


def _local_numbers(
    graph: Graph, flat: Flat, partial: _Partial, env: Mapping[str, Any], ranks: int
) -> dict[str, int] | None:
    """The sizes that are those of a part; None if the op, run on parts, would use such
    a size where that of the whole is meant.
    """
    changed: dict[str, int] = {}

    def part(size: Expr) -> int:
        return -(-int(size_value(size, env)) // ranks)

    for value, number in zip(graph.inputs, flat.inputs, strict=True):
        state = partial.states[number]
        if isinstance(state, Split):
            size = value.shape[state.dim]
            if size.op != "sym":
                return None
            changed[size.attr] = part(size)
    for step, strategy in zip(flat.steps, partial.chosen, strict=True):
        shared = _shared_size(step.node, strategy)
        if shared is not None and shared.op == "sym":
            changed[shared.attr] = part(shared)
    for requirement in graph.requirements:
        _follow(requirement.condition, changed)
    local = {**env, **changed}
    if not all(
        _holds(requirement.condition, local) for requirement in graph.requirements
    ):
        return None
    for value, number in zip(graph.inputs, flat.inputs, strict=True):
        if not _agrees(value.shape, partial.states[number], env, local, part):
            return None
    for step, strategy in zip(flat.steps, partial.chosen, strict=True):
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


def _holds(condition: Expr, env: Mapping[str, Any]) -> bool:
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
        return not any(s.attr in changed for s in symbols(*_bodies(attrs)))
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
