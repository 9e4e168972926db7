"""Sharded ops that combine values inside: an op for each of their stages.

``staged`` chooses the plan of a call and describes its stages, whose ops the runtime
makes from their origins, as for derivatives; ``stage_graph`` returns such an op at a
key. A stage's arguments are its values, then the sizes and numbers that its values do
not determine. Sizes of parts and of wholes are different symbols there. Read first:
transforms/shard.py, transforms/stages.py.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pellucid_compiler.abi.encode import Encodable, decode, encode
from pellucid_compiler.declare.key import specialise
from pellucid_compiler.declare.op import Op, declared_op
from pellucid_compiler.declare.options import Options
from pellucid_compiler.declare.tensor import Tensor
from pellucid_compiler.declare.tracing import require, tracer
from pellucid_compiler.ir.bounded import Bounded
from pellucid_compiler.ir.expr import (
    LOADS,
    Expr,
    cast,
    is_loaded,
    load,
    load_index,
    make,
    padded_load,
    rebuild,
    select,
    sym,
)
from pellucid_compiler.ir.graph import Graph, Value
from pellucid_compiler.ir.primitives import LIBRARY, SCAN
from pellucid_compiler.ir.sizes import shape_value, size_value
from pellucid_compiler.ir.traversal import rewrite, symbols
from pellucid_compiler.specialise.derived_names import DIGEST
from pellucid_compiler.specialise.graphs import GraphOp, declared_graph
from pellucid_compiler.specialise.requests import decode_argument, encode_argument
from pellucid_compiler.specialise.symbols import graph_symbols
from pellucid_compiler.specialise.unify import renamed_attrs, unify_sizes
from pellucid_compiler.transforms.flat_graph import FlatGraph, Step
from pellucid_compiler.transforms.searches import without_searches
from pellucid_compiler.transforms.shard import Plan, staged_plans
from pellucid_compiler.transforms.shard_rules import (
    Joined,
    Split,
    State,
    Strategy,
    Window,
    is_axis,
    reads_number,
)
from pellucid_compiler.transforms.stages import Stage, stages_of

RULE: Final = "stage"
"""The first item of the origin of a stage's op."""

_OPS: Final[Bounded[str, Op]] = Bounded(1024)
"""The stages' ops, by name."""


class Size(NamedTuple):
    """A size passed to a stage: of the whole, of this process's part, or the offset of
    the part's first element; or the first row of its window (``starts``: of each).
    """

    kind: str
    extent: int
    starts: tuple[int, ...] = ()


class StageCall(NamedTuple):
    """How a stage is called: ``inputs`` and ``outputs`` are numbers of values, which
    are ``needs``; ``joins`` are (number, combine) of those that come first.
    """

    schema: str
    origin: bytes
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    needs: tuple[State, ...]
    joins: tuple[tuple[int, str], ...]
    sizes: tuple[Size, ...]
    numbers: tuple[Any, ...]
    is_shared: bool


class Staged(NamedTuple):
    """A plan of a call: the required states of its tensors, the values they become, the
    windows of these, the stages, the result values, their states, and their sizes.
    """

    needs: tuple[State, ...]
    given: tuple[int, ...]
    windows: dict[int, Window]
    stages: tuple[StageCall, ...]
    outputs: tuple[int, ...]
    results: tuple[State, ...]
    shapes: tuple[tuple[int, ...], ...]
    cost: float


class _Source(NamedTuple):
    """A traced call and a plan for it."""

    flat: FlatGraph
    env: Mapping[str, Any]
    plan: Plan
    stages: list[Stage]

    def state(self, number: int, place: int) -> State:
        """The state of a value before a step."""
        state: State = None
        if number in self.flat.inputs:
            state = self.plan.needs[self.flat.inputs.index(number)]
        for step in range(place):
            made = self.flat.steps[step].outputs
            if number in made:
                state = self.plan.chosen[step].results[made.index(number)]
        joined = [k for k, other in self.plan.joins if other == number and k <= place]
        return None if joined else state

    def given(self, stage: Stage) -> dict[int, State]:
        """The states of a stage's operands, after it has combined some."""
        first = stage.steps[0]
        return {
            number: None if number in stage.joins else self.state(number, first)
            for number in stage.inputs
        }


def staged(
    op: Op,
    values: Sequence[Any],
    given: Sequence[State],
    ranks: int,
    has_gradient: bool,
) -> Staged | None:
    """The cheapest plan in stages of a call with TensorLikes for tensors; None if no
    plan needs stages, that is, combines values inside or needs offsets of parts.
    """
    graph, env = _traced(op, values)
    steps = FlatGraph(graph).steps
    for plan in staged_plans(graph, given, env, ranks, has_gradient):
        if has_gradient and not _has_gradients(graph, plan):
            continue
        has_windows = any(isinstance(state, Window) for state in plan.needs)
        if plan.joins or has_windows or any(map(_needs_first, steps, plan.chosen)):
            return _described(op, values, graph, env, plan, ranks, has_gradient)
    return None


def _has_gradients(graph: Graph, plan: Plan) -> bool:
    """Whether gradients pass what is to be combined: sums, and results without one."""
    ends = (
        *zip(graph.inputs, plan.needs, strict=True),
        *zip(graph.outputs, plan.results, strict=True),
    )
    return not any(
        isinstance(state, Joined) and state.combine != "sum" and value.differentiable
        for value, state in ends
    )


def _needs_first(step: Step, strategy: Strategy) -> bool:
    """Whether a step needs the offset of a part's first element."""
    return strategy.owned is not None or _needs_number(step, strategy)


def _described(
    op: Op,
    values: Sequence[Any],
    graph: Graph,
    env: Mapping[str, Any],
    plan: Plan,
    ranks: int,
    has_gradient: bool,
) -> Staged | None:
    flat = FlatGraph(graph)
    source = _Source(flat, env, plan, stages_of(flat, plan))
    arguments = [
        encode_argument(value, argument)
        for value, argument in zip(values, op.schema.arguments, strict=True)
    ]
    states: list[Encodable] = [_encoded(state) for state in plan.needs]
    results: list[Encodable] = [_encoded(state) for state in plan.results]
    calls = []
    for place in range(len(source.stages)):
        description = encode(
            [_named(op), arguments, states, results, ranks, has_gradient, place]
        )
        calls.append(_call(source, place, description))
    shapes = tuple(shape_value(value.shape, env) for value in graph.outputs)
    windows = {
        number: state
        for number, state in zip(flat.inputs, plan.needs, strict=True)
        if isinstance(state, Window)
    }
    return Staged(
        tuple(map(_placed, plan.needs)),
        tuple(flat.inputs),
        windows,
        tuple(calls),
        tuple(flat.outputs),
        *(plan.results, shapes, plan.cost),
    )


def _named(op: Op) -> str | bytes:
    """A declared op's name; a stage's description, if its op runs in stages itself:
    along another mesh dim.
    """
    return op.function.description if isinstance(op.function, _Body) else op.full_name


def stage_op(name: str) -> Op | None:
    """The op of a stage by its name, without namespace."""
    return _OPS.get(name)


def _placed(state: State) -> State:
    """How an operand is before its window is gathered."""
    return Split(state.dim) if isinstance(state, Window) else state


def _call(source: _Source, place: int, description: bytes) -> StageCall:
    stage = source.stages[place]
    body = _stage_op(source, place, description)
    assert isinstance(body.function, _Body)
    combines = {}
    for number in stage.joins:
        made = [k for k, s in enumerate(source.flat.steps) if number in s.outputs]
        (result,) = source.plan.chosen[made[0]].results  # of a loop
        assert isinstance(result, Joined)
        combines[number] = result.combine
    return StageCall(
        *(body.schema.text, encode([RULE, description, [], 0])),
        *(stage.inputs, stage.outputs),
        tuple(source.given(stage).values()),
        tuple(combines.items()),
        tuple(body.function.sizes.values()),
        tuple(source.env[number.attr] for number in body.function.numbers),
        stage.is_shared,
    )


def _encoded(state: State) -> Encodable:
    if isinstance(state, Split):
        return state.dim
    if isinstance(state, Window):
        return [state.dim, state.size, *itertools.chain(*state.ranges)]
    return None if state is None else state.combine


def _decoded(item: Any) -> State:
    if isinstance(item, int):
        return Split(item)
    if isinstance(item, list):
        dim, size, *ends = item
        return Window(dim, size, tuple(zip(ends[::2], ends[1::2], strict=True)))
    return None if item is None else Joined(item)


def _traced(op: Op, values: Sequence[Any]) -> tuple[Graph, dict[str, Any]]:
    call = specialise(op.schema, values, {}, op.options.numbers)
    traced = op.trace(call.key, call.env)
    # For half dtypes, values passed from stage to stage are float32.
    graph = unify_sizes(traced.graph, traced.nominal, traced.guards)
    return without_searches(graph), dict(call.env)


def stage_graph(description: bytes, arguments: Any) -> GraphOp:
    """The op of a stage at the key of a request's arguments."""
    op = _op_of(description)
    found = declared_graph(op, [decode_argument(item) for item in arguments])
    return replace(found, reference=encode([RULE, description, [], 0]))


def _op_of(description: bytes) -> Op:
    return _OPS.get(_name(description)) or _rebuilt(description)


def _name(description: bytes) -> str:
    return f"stage_{hashlib.sha256(description).hexdigest()[:DIGEST]}"


def _rebuilt(description: bytes) -> Op:
    fields: Any = decode(description)
    name, arguments, needs, results, ranks, has_gradient, place = fields
    values = [decode_argument(item) for item in arguments]
    op = declared_op(name) if isinstance(name, str) else _op_of(name)
    graph, env = _traced(op, values)
    states = [_decoded(item) for item in needs]
    wanted = [_decoded(item) for item in results]
    given = list(map(_placed, states))
    for plan in staged_plans(graph, given, env, ranks, has_gradient):
        if list(plan.needs) == states and list(plan.results) == wanted:
            flat = FlatGraph(graph)
            source = _Source(flat, env, plan, stages_of(flat, plan))
            return _stage_op(source, place, description)
    raise LookupError(f"{op.full_name}: its stages are not found again")


def _stage_op(source: _Source, place: int, description: bytes) -> Op:
    body = _Body(source, source.stages[place], description)
    tensors = [f"Tensor x{k}" for k in range(len(body.stage.inputs))]
    sizes = ["SymInt[] sizes"] if body.sizes else []
    numbers = ["Scalar[] numbers"] if body.numbers else []
    results = ", ".join(["Tensor"] * len(body.stage.outputs))
    result = f"({results})" if len(body.stage.outputs) > 1 else results
    given, name = ", ".join([*tensors, *sizes, *numbers]), _name(description)
    made = Op(body, f"{name}({given}) -> {result}", body.kind, Options())
    return _OPS.put(name, made)


class _Body:
    """A stage's body, as the function of an op."""

    def __init__(self, source: _Source, stage: Stage, description: bytes) -> None:
        self.source, self.stage, self.description = source, stage, description
        self.states = source.given(stage)
        self.sizes: dict[tuple[str, Expr], Size] = {}
        self.numbers: dict[Expr, None] = {}
        told = {
            (self._size_kind(number, dim), size)
            for number in stage.inputs
            for dim, size in enumerate(source.flat.values[number].shape)
            if size.op == "sym"
        }
        for place in stage.steps:
            for kind, e in self._symbols(place):
                if (kind, e) in told:
                    continue
                if e.dtype == "int64":
                    extent = int(size_value(e, source.env))
                    self.sizes.setdefault((kind, e), Size(kind, extent))
                else:
                    self.numbers[e] = None
            self._add_windows(place)

    @property
    def kind(self) -> str:
        """The op's kind: a stage may have scans or library routines."""
        steps = [self.source.flat.steps[place].node for place in self.stage.steps]
        found = {node.primitive.name for node in steps} & {SCAN.name, LIBRARY.name}
        if len(found) > 1:
            return "data_dependent"  # may contain both
        return found.pop() if found else "loop"

    def _add_windows(self, place: int) -> None:
        step, strategy = self._step(place)
        for number, state in zip(step.inputs, strategy.needs, strict=True):
            if isinstance(state, Window):
                starts = tuple(first for first, _ in state.ranges)
                key = "start", _start_of(step, number)
                self.sizes.setdefault(key, Size("start", 0, starts))

    def _size_kind(self, number: int, dim: int) -> str:
        state = self.states[number]
        if isinstance(state, Window) and state.dim == dim:
            return "window"
        return "part" if state == Split(dim) else "whole"

    def _symbols(self, place: int) -> Iterable[tuple[str, Expr]]:
        """The sizes and numbers of a step, and their kinds."""
        step, strategy = self._step(place)
        primitive, attrs = step.node.primitive, step.node.attrs
        inside = map(graph_symbols, primitive.bodies(attrs))
        for e in itertools.chain(symbols(*primitive.exprs(attrs)), *inside):
            yield "whole", e
        for size in _part_sizes(step, strategy):
            yield "part", size
        if strategy.owned is not None:
            operand, dim = strategy.owned
            size = step.node.inputs[operand].shape[dim]
            yield from (("first", size), ("whole", size))
        if _is_numbered(step, strategy):
            yield "first", step.node.attrs.extents[strategy.axis]

    def _step(self, place: int) -> tuple[Step, Strategy]:
        return self.source.flat.steps[place], self.source.plan.chosen[place]

    def __call__(self, *arguments: Any) -> Any:
        graph = tracer().graph
        count = len(self.stage.inputs)
        names = self._names(arguments[:count], list(arguments[count:]))
        given = zip(self.stage.inputs, arguments[:count], strict=True)
        values = {number: tensor.value for number, tensor in given}
        for place in self.stage.steps:
            step, strategy = self._step(place)
            inputs = [values[number] for number in step.inputs]
            attrs = _attrs(step, strategy, names)
            made = graph.emit(step.node.primitive, inputs, attrs)
            values.update(zip(step.outputs, made, strict=True))
        results = tuple(Tensor(values[number]) for number in self.stage.outputs)
        return results if len(results) > 1 else results[0]

    def _names(
        self, tensors: Sequence[Tensor], rest: list[Any]
    ) -> dict[tuple[str, Expr], Expr]:
        """The values of sizes and numbers here, by kind."""
        names: dict[tuple[str, Expr], Expr] = {}
        for number, tensor in zip(self.stage.inputs, tensors, strict=True):
            shape = self.source.flat.values[number].shape
            for dim, (size, actual) in enumerate(zip(shape, tensor.shape, strict=True)):
                if size.op != "sym":
                    continue
                known = names.setdefault((self._size_kind(number, dim), size), actual)
                require(make("eq", known, actual), "the parts differ in size")
        names.update(zip(self.sizes, rest.pop(0) if self.sizes else (), strict=True))
        numbers = rest.pop(0) if self.numbers else ()
        for name, value in zip(self.numbers, numbers, strict=True):
            names["whole", name] = value
        return names


def _part_sizes(step: Step, strategy: Strategy) -> list[Expr]:
    """The sizes of a step that are those of a part."""
    found = []
    if strategy.axis is not None:
        found.append(step.node.attrs.extents[strategy.axis])
    for state in strategy.results:
        if isinstance(state, Split):
            found.append(step.node.attrs.shape[state.dim])
    return found


def _needs_number(step: Step, strategy: Strategy) -> bool:
    """Whether the index of the sharded axis is a value."""
    axis = strategy.axis
    return axis is not None and reads_number(step.node.attrs, axis)


def _is_numbered(step: Step, strategy: Strategy) -> bool:
    """Whether a step has indices of the whole: numbers, or rows of a window."""
    has_windows = any(isinstance(state, Window) for state in strategy.needs)
    return has_windows or _needs_number(step, strategy)


def _start_of(step: Step, number: int) -> Expr:
    """A name for the first row of an operand's window."""
    return sym(f"{number}.{step.outputs[0]}")


def _attrs(
    step: Step, strategy: Strategy, names: Mapping[tuple[str, Expr], Expr]
) -> Any:
    """A step's attributes in terms of the stage's sizes and numbers."""

    def whole(e: Expr) -> Expr | None:
        if e.op != "sym":
            return None
        found = names["whole", e]
        return found if found.dtype == e.dtype else cast(found, e.dtype)

    attrs = renamed_attrs(step.node.attrs, whole)

    def with_part(sizes: tuple[Expr, ...], old: Any, place: int) -> tuple[Expr, ...]:
        part = names["part", old[place]]
        return (*sizes[:place], part, *sizes[place + 1 :])

    old = step.node.attrs
    for state in strategy.results:
        if isinstance(state, Split):
            attrs = attrs._replace(shape=with_part(attrs.shape, old.shape, state.dim))
    if strategy.axis is not None:
        attrs = attrs._replace(
            extents=with_part(attrs.extents, old.extents, strategy.axis)
        )
    if strategy.axis is not None and _is_numbered(step, strategy):
        first = names["first", old.extents[strategy.axis]]
        starts = {
            operand: (state.dim, names["start", _start_of(step, number)])
            for operand, (number, state) in enumerate(
                zip(step.inputs, strategy.needs, strict=True)
            )
            if isinstance(state, Window)
        }
        attrs = _numbered(attrs, strategy.axis, first, starts)
    if strategy.owned is not None:
        attrs = _owned(attrs, step.node.inputs, strategy.owned, names)
    return attrs


def _numbered(
    attrs: Any, axis: int, first: Expr, starts: Mapping[int, tuple[int, Expr]]
) -> Any:
    """Use the whole's index of the axis where it is a value, and in windows, whose rows
    begin at ``starts``; other elements are those of the part.
    """

    def leaf(e: Expr, args: Sequence[Expr]) -> Expr | None:
        if e.op == "axis":
            return make("add", e, first) if e.attr == axis else None
        if e.op not in LOADS:
            return None
        index = [
            old if is_axis(old, axis) else new
            for old, new in zip(load_index(e), args, strict=False)
        ]
        if e.attr in starts:
            dim, start = starts[e.attr]
            index[dim] = make("sub", args[dim], start)
        return rebuild(e, (*index, *args[len(index) :]))

    stores = tuple(s._replace(body=rewrite(s.body, leaf)) for s in attrs.stores)
    payload = None if attrs.payload is None else rewrite(attrs.payload, leaf)
    return attrs._replace(stores=stores, payload=payload)


def _owned(
    attrs: Any,
    inputs: Sequence[Value],
    owned: tuple[int, int],
    names: Mapping[tuple[str, Expr], Expr],
) -> Any:
    """Elements of other processes are zeros; elements that nobody has are an error."""
    operand, dim = owned
    size = inputs[operand].shape[dim]
    first, whole = names["first", size], names["whole", size]

    def leaf(e: Expr, args: Sequence[Expr]) -> Expr | None:
        if e.op != "load" or e.attr != operand:
            return None
        assert is_loaded(load_index(e)[dim])
        place = args[dim]
        index = [*args[:dim], make("sub", place, first), *args[dim + 1 :]]
        found = padded_load(operand, index, 0, e.dtype)
        exists = make("and", make("le", 0, place), make("lt", place, whole))
        return select(exists, found, load(operand, args, e.dtype))

    stores = tuple(s._replace(body=rewrite(s.body, leaf)) for s in attrs.stores)
    return attrs._replace(stores=stores)
