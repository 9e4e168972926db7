"""How the runtime calls a derivative: from its Graph to an op with a schema, and where
each of its arguments comes from.

The Graph's unread inputs are dropped: whatever it does not read is not saved. Sizes of
unsaved arguments are passed as integers. Called by derivatives.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pellucid_compiler.abi.encode import encode
from pellucid_compiler.declare.key import ListKey, NumberKey, TensorKey
from pellucid_compiler.declare.schema import Schema, parse_schema
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.lower.registers import (
    LoweringError,
    NumberSource,
    SizeSource,
    Source,
)
from pellucid_compiler.specialise.derived_names import (
    derived_name,
    derived_node_name,
    origin_of,
)
from pellucid_compiler.specialise.graphs import GraphOp
from pellucid_compiler.specialise.keyed import ArgumentSource, Derived, KeyedOp
from pellucid_compiler.specialise.requests import TensorPlace
from pellucid_compiler.specialise.symbols import graph_symbols


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


class Assembly:
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
