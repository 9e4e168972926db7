"""Groups of recorded ops with an anchor, an op in passes over whole tensors: one op.

The runtime (runtime/record/anchored.cpp) describes a group by the requests with which
its ops were found, the origins of their operands, the values it returns, and the sizes
at which it was first seen. The ops are composed into the body of an op whose arguments
are the group's inputs, the numbers of its pointwise ops, and the anchor's own
arguments. A group that takes as many passes as its parts is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pellucid_compiler.abi.encode import encode
from pellucid_compiler.abi.groups import Member
from pellucid_compiler.abi.limits import FIRST_VALUE
from pellucid_compiler.abi.plan import ComputeStep
from pellucid_compiler.abi.requests import PlanRequest, read_request
from pellucid_compiler.declare.op import Op
from pellucid_compiler.declare.options import Options
from pellucid_compiler.declare.schema import Argument
from pellucid_compiler.declare.tensor import Tensor, lift
from pellucid_compiler.declare.tracing import (
    ask,
    require,
    tracer,
    with_default_dtype,
)
from pellucid_compiler.ir.bounded import Bounded
from pellucid_compiler.ir.elements import element_bodies
from pellucid_compiler.ir.expr import Expr, cast, make
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.ir.traversal import rewrite
from pellucid_compiler.lower.registers import NumberSource
from pellucid_compiler.specialise.derived_names import DIGEST
from pellucid_compiler.specialise.graphs import GraphOp, declared_graph
from pellucid_compiler.specialise.members import Resolve, asked_op, described
from pellucid_compiler.specialise.requests import TensorLike, decode_argument
from pellucid_compiler.specialise.unify import renamed_expr, renamed_graph

RULE = "group"
"""The first item of such an op's origin, where a derivative's has a rule."""

_GROUPS: Bounded[bytes, _Group] = Bounded(512)


class _Group(NamedTuple):
    op: Op
    example: tuple[Any, ...]
    passes: int  # of its parts
    anchor: GraphOp


def anchored_graph(description: bytes, arguments: Any, resolve: Resolve) -> GraphOp:
    """The op of a group at the key of a request's arguments."""
    values = [decode_argument(item) for item in arguments]
    return _at(_group(description, resolve), values)


def _at(group: _Group, values: Sequence[Any]) -> GraphOp:
    """The group's op at the key of arguments."""
    return replace(declared_graph(group.op, values), anchor=group.anchor)


def lower_anchored(description: bytes, resolve: Resolve) -> bytes:
    """The schema of a group's op and its reference; ``LookupError`` if its parts cannot
    be combined.
    """
    group = _group(description, resolve)
    plan = _at(group, group.example).lower().plan
    passes = sum(not isinstance(step, ComputeStep) for step in plan.steps)
    if passes >= group.passes:
        raise LookupError("its ops take as many passes in one group as in several")
    return encode([group.op.schema.text, encode([RULE, description, [], 0])])


def graph_of(description: bytes, resolve: Resolve) -> Graph:
    """The Graph of a group at the sizes at which it was first seen."""
    group = _group(description, resolve)
    return _at(group, group.example).graph


def is_anchored(description: bytes) -> bool:
    """Whether this describes a group with an anchor."""
    return described(description).inputs is not None


def _group(description: bytes, resolve: Resolve) -> _Group:
    known = _GROUPS.get(description)
    return known or _GROUPS.put(description, _Builder(description, resolve).group())


class _Builder:
    """Builds the op of a description."""

    def __init__(self, description: bytes, resolve: Resolve) -> None:
        found = described(description)
        self.parts, self.outputs = found.members, found.outputs
        self.inputs = found.inputs or ()
        self.description = description
        self.resolve = resolve
        (anchor,) = (part for part in self.parts if part.numbers is None)
        self.anchor = read_request(PlanRequest, anchor.request)
        with with_default_dtype(self.anchor.default_dtype):
            self.traced: GraphOp = resolve(self.anchor.op, self.anchor.arguments)

    def group(self) -> _Group:
        schema = self._schema()
        op = Op(self._body, schema, "fused", Options())
        example = [TensorLike(item.dtype, item.sizes) for item in self.inputs]
        numbers = self._numbers()
        rest: list[Any] = [[1 if n else 1.0 for n in numbers]] if numbers else []
        values = [decode_argument(item) for item in self.anchor.arguments]
        rest += [values[k] for k, _ in self._own_arguments()]
        return _Group(op, (*example, *rest), self._passes(), self.traced)

    def _passes(self) -> int:
        """One for the ops before the anchor, its own, one for the ops after it."""
        place = next(k for k, p in enumerate(self.parts) if p.numbers is None)
        plan = self.traced.lower().plan
        own = sum(not isinstance(step, ComputeStep) for step in plan.steps)
        return (place > 0) + own + (place + 1 < len(self.parts))

    def _numbers(self) -> list[bool]:
        """Whether each number of the parts is an integer."""
        found = [n for part in self.parts for n in part.numbers or ()]
        if any(number.part != "whole" for number in found):
            raise LookupError("a number of its ops is complex")
        return [number.is_integer for number in found]

    def _own_arguments(self) -> list[tuple[int, Argument]]:
        """The anchor's arguments other than tensors."""
        tensors = {place.argument for place in self.traced.places}
        arguments = enumerate(self.traced.schema.arguments)
        return [(k, a) for k, a in arguments if k not in tensors]

    def _schema(self) -> str:
        texts = [f"Tensor x{k}" for k in range(len(self.inputs))]
        texts += ["Scalar[] numbers"] if self._numbers() else []
        texts += [f"{_type_text(a)} a{k}" for k, a in self._own_arguments()]
        results = ", ".join(["Tensor"] * len(self.outputs))
        digest = hashlib.sha256(self.description).hexdigest()[:DIGEST]
        result = f"({results})" if len(self.outputs) > 1 else results
        return f"group_{digest}({', '.join(texts)}) -> {result}"

    def _body(self, *arguments: Any) -> Any:
        inputs = arguments[: len(self.inputs)]
        rest = list(arguments[len(self.inputs) :])
        numbers = iter(rest.pop(0) if self._numbers() else ())
        own = dict(zip((k for k, _ in self._own_arguments()), rest, strict=True))
        values: list[Tensor] = []
        for part in self.parts:
            found = {
                o.argument: values[o.place - FIRST_VALUE]
                if o.place >= FIRST_VALUE
                else inputs[o.place]
                for o in part.operands
            }
            if part.numbers is None:
                values += self._anchored({**own, **found})
            else:
                values += self._mapped(part, found, numbers)
        results = tuple(values[k] for k in self.outputs)
        return results if len(results) > 1 else results[0]

    def _anchored(self, given: Mapping[int, Any]) -> Sequence[Tensor]:
        """The anchor's results: its Graph, over the sizes and numbers given here. Its
        requirements were checked when it was recorded.
        """
        traced = self.traced
        inputs = [given[place.argument] for place in traced.places]
        names = _bound_sizes(traced, inputs)
        for name, source in traced.sources.items():
            if isinstance(source, NumberSource):
                if name in names:  # a size of its operands, as their ops call it
                    continue
                value = given[source.argument]
                names[name] = value if source.element < 0 else value[source.element]
            else:
                names[name] = inputs[source.position].shape[source.dim]
        graph = renamed_graph(traced.graph, names)
        for condition, answer in traced.guards.items():
            if ask(renamed_expr(condition, names)) is not answer:
                raise LookupError("its sizes call for another form of its anchor")
        found = tracer().graph.inline(graph, [t.value for t in inputs])
        return [Tensor(value) for value in found]

    def _mapped(
        self, part: Member, given: Mapping[int, Tensor], numbers: Any
    ) -> list[Tensor]:
        """The results of a pointwise op."""
        member = asked_op(part.request, self.resolve)
        passed = {n.argument: next(numbers) for n in part.numbers or ()}
        read = [p.argument for p in member.places if p.argument in given]
        numbered = member.number_arguments()

        def body(*elements: Expr) -> Any:
            found = dict(zip(read, elements, strict=True))

            def leaf(e: Expr, _: Any) -> Expr | None:
                if e.op == "load":
                    return cast(found[member.places[e.attr].argument], e.dtype)
                if e.op == "sym":
                    number = passed[numbered[e.attr]]
                    return number if number.dtype == e.dtype else cast(number, e.dtype)
                return None

            return tuple(rewrite(e, leaf) for e in element_bodies(member.graph))

        results = lift(body, *(given[k] for k in read))
        return list(results)


def _type_text(argument: Argument) -> str:
    inner = "?" if argument.element_optional else ""
    length = "" if argument.length is None else f"[{argument.length or ''}]"
    return f"{argument.type}{inner}{length}{'?' if argument.optional else ''}"


def _bound_sizes(traced: GraphOp, inputs: Sequence[Tensor]) -> dict[str, Expr]:
    """The sizes here of the names in its Graph and its arguments.

    Sizes with one name there are required to be equal here: otherwise its loops would
    not be known to be in bounds of all operands, and would be lowered differently.
    """
    found: dict[str, Expr] = {}
    for value, tensor in zip(traced.graph.inputs, inputs, strict=True):
        for size, actual in zip(value.shape, tensor.shape, strict=True):
            if size.op == "sym":
                known = found.setdefault(size.attr, actual)
                message = "a group's operands of sizes {} and {} do not match"
                require(make("eq", known, actual), message, known, actual)
    for place, tensor in zip(traced.places, inputs, strict=True):
        name = traced.schema.arguments[place.argument].name
        for dim, actual in enumerate(tensor.shape):
            found.setdefault(f"{name}.{dim}", actual)
    return found
