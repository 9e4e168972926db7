"""The derivatives of an op at one key and mask of inputs, which are ops too.

``derive`` makes gradients, ``derive_tangent`` tangents. The backward Graph reads
forward arguments and results, and gradients; whatever it does not read is not saved.
The one of ``derive_saving`` also reads what the declaration saves, and a forward op
that returns these values too runs instead of the op. Sizes of unsaved arguments are
passed as integers. Gradients of a pointwise op have the broadcast shape of all
operands; the engine sums them to the operands' shapes. runtime/ops/derivatives.cpp
reads ``encode_derivative``; DerivativePlan in autograd/derivative.h explains the
fields. Read next: batching.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pellucid_compiler.abi.encode import Encodable, encode
from pellucid_compiler.abi.fields import encode_record
from pellucid_compiler.abi.plan import Instruction
from pellucid_compiler.abi.records import (
    DerivativeRow,
    DerivedOp,
    GuardedDerivative,
    PassedRow,
    SizeRow,
    SourceRow,
)
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.declare.key import ListKey, NumberKey, TensorKey
from pellucid_compiler.declare.schema import Schema, parse_schema
from pellucid_compiler.ir.build import element, emit_map
from pellucid_compiler.ir.dtypes import HALF, is_float
from pellucid_compiler.ir.expr import cast, same_exprs
from pellucid_compiler.ir.graph import Graph, Value
from pellucid_compiler.ir.kinds import has_plain_store, view_map
from pellucid_compiler.ir.primitives import CALL, LOOP
from pellucid_compiler.lower.registers import (
    LoweringError,
    NumberSource,
    RegisterBuilder,
    SizeSource,
    Source,
    size_sources,
)
from pellucid_compiler.specialise.graphs import GraphOp
from pellucid_compiler.specialise.keyed import ArgumentSource, Derived, KeyedOp
from pellucid_compiler.specialise.requests import TensorPlace
from pellucid_compiler.specialise.symbols import graph_symbols
from pellucid_compiler.transforms.jvp import jvp
from pellucid_compiler.transforms.vjp import vjp

DIGEST = 16
"""Hexadecimal digits that end the name of a derived op."""


@dataclass(frozen=True, eq=False)
class DerivativeOp:
    """The op that computes gradients or tangents, and how the runtime calls it.

    ``sizes`` are (argument, element, dim) of the integers in the ``sizes`` argument;
    ``results`` the input number of each gradient, or the output number of each tangent.
    ``passed`` are gradients that are passed on unchanged: from which output to which
    input; if there are no others, there is no op. ``forward`` returns the op's results
    and, after them, the values to save.
    """

    op: KeyedOp | None
    arguments: tuple[ArgumentSource, ...]
    sizes: tuple[tuple[int, int, int], ...]
    results: tuple[int, ...]
    saved_arguments: int
    saved_results: int
    passed: tuple[tuple[int, int], ...] = ()
    forward: GraphOp | None = None


def derive(op: KeyedOp, mask: int) -> DerivativeOp | None:
    """The derivative with respect to the inputs whose bits are set, or None."""
    op = op.to_differentiate()
    wrt = _moving_inputs(op, mask)
    outputs = [k for k, v in enumerate(op.graph.outputs) if is_float(v.dtype)]
    if not wrt or not outputs:
        return None
    backward = _backward_graph(op.graph, op.graph, wrt)
    given = [ArgumentSource("gradient", k) for k in outputs]
    results = [op.places[k].number for k in wrt]
    return _Assembly(op, "vjp", mask, backward, given, results).derivative()


def derive_saving(op: GraphOp, mask: int) -> DerivativeOp | None:
    """Like ``derive``, for a call that saves what its gradient reads."""
    found = derive(op, mask)
    if found is None or op.saving_graph is None:
        return found
    wrt = _moving_inputs(op, mask)
    backward = _backward_graph(op.saving_graph, op.graph, wrt)
    first = len(op.graph.inputs) + len(op.graph.outputs)
    saved = range(first, len(op.graph.inputs) + len(op.saving_graph.outputs))
    read = [backward.inputs[k] for k in saved if k in backward.used_inputs()]
    if not read:
        return found
    given = [a for a in found.arguments if a.origin == "gradient"]
    given = [ArgumentSource("saved", k) for k in range(len(saved))] + given
    assembly = _Assembly(op, "saved_vjp", mask, backward, given, found.results)
    if any(value.differentiable for value in read):
        assembly.differentiated = _recomputing_saved(op, backward, saved, wrt)
    return replace(assembly.derivative(), forward=saving_forward(op))


def _recomputing_saved(
    op: GraphOp, backward: Graph, saved: range, wrt: Sequence[int]
) -> Graph:
    """The backward Graph that recomputes the inputs ``saved`` of ``backward``."""
    graph = _backward_graph(op.graph, op.graph, wrt)
    graph.inputs[saved.start : saved.start] = [
        Value(v.shape, v.dtype, name=v.name)
        for v in backward.inputs[saved.start : saved.stop]
    ]
    return graph


def saving_forward(op: GraphOp) -> GraphOp:
    """``op`` with the values that its declaration saves after its results."""
    assert op.saving_graph is not None
    name = derived_name(op, "forward", 0)
    returns = ", ".join(["Tensor"] * len(op.saving_graph.outputs))
    _, _, arguments = op.schema.text.partition("(")
    arguments, _, _ = arguments.rpartition(" -> ")
    return replace(
        op,
        reference=encode(["forward", *origin_of(op), 0]),
        schema=parse_schema(f"{name}({arguments} -> ({returns})"),
        arguments=[],
        graph=op.saving_graph,
        saving_graph=None,
    )


def derive_tangent(op: KeyedOp, mask: int) -> DerivativeOp | None:
    """The tangents of the outputs, given tangents of the inputs of ``mask``."""
    op = op.to_differentiate()
    wrt = _moving_inputs(op, mask)
    outputs = [k for k, v in enumerate(op.graph.outputs) if v.differentiable]
    if not wrt or not outputs:
        return None
    forward = _tangent_graph(op.graph, wrt)
    given = [ArgumentSource("tangent", op.places[k].number) for k in wrt]
    return _Assembly(op, "jvp", mask, forward, given, outputs).derivative()


def _moving_inputs(op: KeyedOp, mask: int) -> list[int]:
    return [
        position
        for position, place in enumerate(op.places)
        if mask >> min(place.number, 63) & 1
        and op.graph.inputs[position].differentiable
    ]


def _backward_graph(forward: Graph, graph: Graph, wrt: Sequence[int]) -> Graph:
    """(inputs, ``forward``'s outputs, grads of ``graph``'s float outputs) -> grads of
    ``wrt``.

    The backward part reads what it needs of the forward part's results. ``forward`` is
    ``graph``, or has additional outputs.
    """
    return _copy(_made_backward(forward, graph, tuple(wrt)))


def _tangent_graph(graph: Graph, wrt: Sequence[int]) -> Graph:
    """(inputs, outputs, tangents of ``wrt``) -> tangents of the outputs."""
    return _copy(_made_tangent(graph, tuple(wrt)))


def _copy(graph: Graph) -> Graph:
    """A copy for an assembly, which renumbers it."""
    return graph.with_outputs(graph.outputs)


# Calls that differ in their arguments share a Graph, and its derivatives.
@lru_cache(128)
def _made_tangent(graph: Graph, wrt: tuple[int, ...]) -> Graph:
    return _without_idle_calls(jvp(graph, wrt, given_outputs=True))


@lru_cache(128)
def _made_backward(forward: Graph, graph: Graph, wrt: tuple[int, ...]) -> Graph:
    g = Graph(f"{graph.name}.vjp")
    inputs = [g.input_like(v) for v in graph.inputs]
    results = [g.input(v.shape, v.dtype) for v in forward.outputs]
    back = vjp(graph, wrt)
    grads = [g.input_like(v) for v in back.inputs[len(inputs) :]]
    env = dict(zip(back.inputs, [*inputs, *grads], strict=True))
    read = _forward_results(g, forward, back, results)
    env.update(read)
    for node in back.nodes:
        if not all(value in env for value in node.outputs):
            g.copy_node(node, env)
            env.update((v, read[v]) for v in node.outputs if v in read)
    g.outputs = [env[value] for value in back.outputs]
    return _without_idle_calls(g.prune())


def _without_idle_calls(graph: Graph) -> Graph:
    """``graph`` with calls of which only saved values are read replaced by the part of
    their bodies that computes these, which may need fewer arguments. The forward op has
    checked the bodies' requirements.
    """
    uses = graph.uses()
    g = Graph(graph.name)
    g.requirements = graph.requirements
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        saved = node.attrs.num_saved if node.primitive is CALL else len(node.outputs)
        count = len(node.outputs) - saved
        if count == 0 or any(map(uses.is_read, node.outputs[:count])):
            g.copy_node(node, env)
            continue
        part = node.attrs.body.with_outputs(node.attrs.body.outputs[count:])
        part.requirements.clear()
        given = [env[v] for v in node.inputs]
        env.update(zip(node.outputs[count:], g.inline(part, given), strict=True))
    g.outputs = [env[value] for value in graph.outputs]
    return g.prune()


def _forward_results(
    g: Graph, graph: Graph, back: Graph, results: Sequence[Value]
) -> dict[Value, Value]:
    """The values of ``back`` that are results of the forward part, read from them."""
    copies: dict[Value, Value] = dict(zip(graph.inputs, back.inputs, strict=False))
    known = {(n.primitive, n.inputs, n.attrs): n for n in back.nodes}
    for node in graph.nodes:
        inputs = tuple(copies.get(value) for value in node.inputs)
        found = None
        if None not in inputs:
            found = known.get((node.primitive, inputs, node.attrs))  # type: ignore[arg-type]
        if found is not None:
            copies.update(zip(node.outputs, found.outputs, strict=True))
    read: dict[Value, Value] = {}
    for value, result in zip(graph.outputs, results, strict=True):
        wide = _rounded_from(value)
        if value in copies and value.node is not None and value.node.inputs:
            read[copies[value]] = result
        if wide is not None and wide in copies and wide not in graph.inputs:
            read[copies[wide]] = _converted(g, result, wide.dtype)
    return read


def _rounded_from(value: Value) -> Value | None:
    """The wide value that a half result is the rounding of."""
    node = value.node
    if value.dtype not in HALF or node is None or node.primitive is not LOOP:
        return None
    if view_map(node) is not None or not has_plain_store(node.attrs):
        return None
    body = node.attrs.store.body
    if body.op != "cast" or body.args[0].op != "load":
        return None
    (source,) = node.inputs
    plain = all(i.op == "axis" for i in body.args[0].args)
    return source if plain and same_exprs(source.shape, value.shape) else None


def _converted(g: Graph, value: Value, dtype: str) -> Value:
    return emit_map(g, value.shape, lambda *p: cast(element(value, p), dtype))


class _Assembly:
    """The derivative op's schema, sources and numbering.

    ``derived`` reads the op's inputs, its outputs and the values that ``given`` lists,
    in this order; so does ``differentiated``, if there is one, which reads only
    arguments that ``derived`` reads too.
    """

    def __init__(
        self,
        op: KeyedOp,
        rule: str,
        mask: int,
        derived: Graph,
        given: Sequence[ArgumentSource],
        results: Sequence[int],
    ) -> None:
        self.op, self.rule, self.mask, self.derived = op, rule, mask, derived
        self.differentiated: Graph | None = None
        self.num_inputs = len(op.graph.inputs)
        self.first_given = self.num_inputs + len(op.graph.outputs)
        self.given, self.results = given, tuple(results)
        self.passed: list[tuple[int, int]] = []
        self.declared: list[str] = []
        self.key: list[TensorKey | NumberKey | ListKey] = []
        self.arguments: list[ArgumentSource] = []
        self.places: list[TensorPlace] = []
        self.sources: dict[str, Source] = {}
        self.sizes: list[tuple[int, int, int]] = []

    def derivative(self) -> DerivativeOp:
        if self.op.broadcasts and self.rule == "vjp":
            self._pass_gradients()
            if not self.results:
                return DerivativeOp(None, (), (), (), 0, 0, tuple(self.passed))
        used = self.derived.used_inputs()
        for graph in self._graphs():
            assert set(graph.used_inputs()) <= set(used), (self.op.name, graph)
        if self.op.broadcasts and not used:
            used = [self.first_given]  # it determines the shape
        for position in used:
            self._add_tensor(position)
        self._add_numbers()
        for graph in self._graphs():
            graph.inputs = [graph.inputs[k] for k in used]
        inputs = [k for k in used if k < self.num_inputs]
        results = [
            k - self.num_inputs for k in used if self.num_inputs <= k < self.first_given
        ]
        return DerivativeOp(
            op=self._op(),
            arguments=tuple(self.arguments),
            sizes=tuple(self.sizes),
            results=self.results,
            saved_arguments=sum(1 << self.op.places[k].number for k in inputs),
            saved_results=sum(1 << k for k in results),
            passed=tuple(self.passed),
        )

    def _pass_gradients(self) -> None:
        """Omit the results that are an unchanged gradient."""
        given = dict(
            zip(self.derived.inputs[self.first_given :], self.given, strict=True)
        )
        pairs = list(zip(self.derived.outputs, self.results, strict=True))
        self.passed = [(given[v].index, which) for v, which in pairs if v in given]
        computed = [(v, which) for v, which in pairs if v not in given]
        self.derived.outputs = [value for value, _ in computed]
        self.results = tuple(which for _, which in computed)

    def _graphs(self) -> list[Graph]:
        graphs = [self.derived, self.differentiated]
        return [graph for graph in graphs if graph is not None]

    def _add_tensor(self, position: int) -> None:
        value = self.derived.inputs[position]
        result = position - self.num_inputs
        if result < 0:
            if position >= len(self.op.places):
                raise LoweringError(
                    f"the derivative of {self.op.schema.name} reads random words"
                )
            place = self.op.places[position]
            source = ArgumentSource("argument", place.argument, place.element)
        elif result < len(self.op.graph.outputs):
            source = ArgumentSource("result", result)
        else:
            source = self.given[result - len(self.op.graph.outputs)]
        name = f"a{len(self.declared)}"
        self.places.append(TensorPlace(len(self.declared), -1, len(self.places)))
        self._declare(f"Tensor {name}", TensorKey(value.dtype, value.rank), source)

    def _declare(
        self, text: str, key: TensorKey | NumberKey | ListKey, source: ArgumentSource
    ) -> None:
        self.declared.append(text)
        self.key.append(key)
        self.arguments.append(source)

    def _add_numbers(self) -> None:
        """Bind every symbol that is not a size of a saved tensor."""
        used = {self.derived.inputs[k] for k in self.derived.used_inputs()}
        known = {n.attr for v in used for n in v.shape if n.op == "sym"}
        passed: dict[int, int] = {}
        wanted = graph_symbols(self.derived, used)
        if self.differentiated is not None:
            also = {self.differentiated.inputs[k] for k in self.derived.used_inputs()}
            more = graph_symbols(self.differentiated, also)
            wanted = list(dict.fromkeys([*wanted, *more]))
        for symbol in wanted:
            if symbol.attr in known or symbol.attr.startswith("count."):
                continue
            source = self._size_source(symbol.attr)
            if source is not None:
                self.sizes.append(source)
                element = len(self.sizes) - 1
                self.sources[symbol.attr] = NumberSource(-1, element)
                continue
            given = self.op.sources[symbol.attr]
            assert isinstance(given, NumberSource)
            if given.argument not in passed:
                passed[given.argument] = len(self.declared)
                self._pass_number(given.argument)
            self.sources[symbol.attr] = NumberSource(
                passed[given.argument], given.element
            )
        if self.sizes:
            self._add_sizes()

    def _size_source(self, name: str) -> tuple[int, int, int] | None:
        for position, value in enumerate(self.op.graph.inputs):
            for dim, size in enumerate(value.shape):
                is_named = value.name is not None and name == f"{value.name}.{dim}"
                if is_named or (size.op == "sym" and size.attr == name):
                    place = self.op.places[position]
                    return place.argument, place.element, dim
        source = self.op.sources.get(name)
        if not isinstance(source, SizeSource):
            return None
        place = self.op.places[source.position]
        return place.argument, place.element, source.dim

    def _pass_number(self, argument: int) -> None:
        declared = self.op.schema.arguments[argument]
        key = self.op.key[argument]
        name = f"n{len(self.declared)}"
        kind = {"int64": "SymInt", "weakfloat": "float"}
        if isinstance(key, ListKey):
            element = (
                declared.type if declared.type in ("SymInt", "float") else "Scalar"
            )
            text = f"{element}[] {name}"
        else:
            assert isinstance(key, NumberKey)
            is_exact = declared.type in kind.values() and not self.op.broadcasts
            text = f"{kind[key.dtype] if is_exact else 'Scalar'} {name}"
        assert isinstance(key, (NumberKey, ListKey))
        self._declare(text, key, ArgumentSource("argument", argument))

    def _add_sizes(self) -> None:
        position = len(self.declared)
        key = ListKey((NumberKey("int64"),) * len(self.sizes))
        self._declare("SymInt[] sizes", key, ArgumentSource("sizes"))
        for name, source in self.sources.items():
            if isinstance(source, NumberSource) and source.argument == -1:
                self.sources[name] = NumberSource(position, source.element)

    def _op(self) -> KeyedOp:
        return self.op.derived(
            Derived(
                reference=encode([self.rule, *origin_of(self.op), self.mask]),
                schema=self._schema(),
                key=tuple(self.key),
                graph=self.derived,
                places=self.places,
                sources=self.sources,
                node=derived_node_name(self.op.node, self.rule),
                origins=self.arguments,
                differentiated=self.differentiated,
            )
        )

    def _schema(self) -> Schema:
        result = "Tensor" if len(self.results) == 1 else "Tensor[]"
        if self.op.broadcasts and len(self.results) > 1:
            result = f"({', '.join(['Tensor'] * len(self.results))})"
        name = derived_name(self.op, self.rule, self.mask)
        return parse_schema(f"{name}({', '.join(self.declared)}) -> {result}")


def derived_name(op: KeyedOp, rule: str, mask: int) -> str:
    """A unique name: the origin's, the rules in order, and a digest of what determines
    the Graph.
    """
    whole = encode([rule, op.reference, *op.identity(), mask])
    digest = hashlib.sha256(whole).hexdigest()[:DIGEST]
    base = "_".join(filter(None, (op.schema.name, op.schema.overload)))
    base = base.removeprefix("_")
    stem = base[: -DIGEST - 1] if isinstance(op.reference, bytes) else base
    return f"{stem}_{rule}_{digest}"


def derived_node_name(node: str, rule: str) -> str:
    """The name of the node that records a call of a derived op: ``ExpBackward0`` gives
    ``ExpBackwardBackward0``, its tangent rule ``ExpJvpBackward0``.
    """
    stem, _, _ = node.rpartition("Backward")
    return f"{stem}{'Jvp' if rule == 'jvp' else 'Backward'}Backward0"


def origin_of(op: KeyedOp) -> list[Encodable]:
    """The forward op in a request: its reference and its arguments."""
    return [op.reference, op.arguments]


def guard_program(op: KeyedOp) -> tuple[Instruction, ...]:
    """The forward op's guards, evaluated again when a derivative is looked up."""
    registers = RegisterBuilder({**size_sources(op.graph), **op.sources})
    for condition, answer in op.guards.items():
        registers.guard(condition, answer)
    return tuple(registers.program)


def encode_derivative(
    forward: KeyedOp, derivative: DerivativeOp | None, kernels: dict[bytes, Kernel]
) -> bytes:
    """The answer to a "derivative" request; ``kernels`` collects what it uses."""
    guards = guard_program(forward)
    if derivative is None:
        return encode(encode_record(GuardedDerivative(guards, None)))
    row = DerivativeRow(
        op=_derived_op(derivative.op, kernels),
        arguments=tuple(
            SourceRow(a.origin, a.index, a.element) for a in derivative.arguments
        ),
        sizes=tuple(SizeRow(*size) for size in derivative.sizes),
        results=derivative.results,
        broadcasts=forward.broadcasts,
        saved_arguments=derivative.saved_arguments,
        saved_results=derivative.saved_results,
        node=forward.node,
        passed=tuple(PassedRow(*way) for way in derivative.passed),
        forward=_derived_op(derivative.forward, kernels),
    )
    return encode(encode_record(GuardedDerivative(guards, row)))


def _derived_op(op: KeyedOp | None, kernels: dict[bytes, Kernel]) -> DerivedOp | None:
    """An op made at first use, with what runs its only key."""
    if op is None:
        return None
    assert isinstance(op.reference, bytes)
    keys = encode([op.keyed(kernels)])
    return DerivedOp(op.schema.text, op.kind, op.promoted, op.reference, keys)
