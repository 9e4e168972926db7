"""Pointwise ops at one key, and their derivatives, which are pointwise too.

The runtime promotes and broadcasts, and calls the kernel of a Graph of elements
(ir/elements.py) for all elements. It requests the function of a call after promotion
(``pointwise_at``), derivatives before it (``declared_pointwise``). A tangent has the
shape of what it reads; the runtime expands it to the output's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

from pellucid_compiler.abi.encode import Encodable
from pellucid_compiler.abi.fields import encode_record
from pellucid_compiler.abi.items import UnitItem
from pellucid_compiler.abi.records import KeyedFunction, PointwiseKey
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.declare.key import Key, NumberKey, TensorKey, bind_arguments
from pellucid_compiler.declare.op import Op
from pellucid_compiler.declare.schema import Schema
from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.expr import const
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.lower.registers import NumberSource
from pellucid_compiler.specialise.keyed import ArgumentSource, Derived, KeyedOp
from pellucid_compiler.specialise.promotion import (
    common_dtype,
    compute_items,
    element_key,
    promoted_mask,
)
from pellucid_compiler.specialise.requests import (
    encode_argument,
    key_items,
    number_sources,
    tensor_places,
)
from pellucid_compiler.specialise.scalars import (
    ComputeKey,
    LoweredFunction,
    NumberRule,
    encode_function,
    lower_elements,
    number_key,
    number_rules,
)
from pellucid_compiler.specialise.symbols import graph_symbols
from pellucid_compiler.specialise.unify import renamed_graph


@dataclass(frozen=True, eq=False, kw_only=True)
class PointwiseOp(KeyedOp):
    """A Graph of elements, which one kernel runs.

    ``key`` is the one after promotion to the dtype ``common``, ``called`` the one
    before. ``units`` are factors that have their default 1 (add's alpha): derivatives
    use that.
    """

    broadcasts = True

    common: str
    called: Key = ()
    rules: Mapping[str, NumberRule] = field(default_factory=dict)
    units: tuple[str, ...] = ()

    def lower(self) -> LoweredFunction:
        return lower_elements(self.graph, self.places, self.sources, self.rules)

    def number_arguments(self) -> dict[str, int]:
        """The argument of each symbol of the Graph."""
        found = {}
        for name, source in self.sources.items():
            assert isinstance(source, NumberSource)
            found[name] = source.argument
        return found

    def specification(self) -> PointwiseKey:
        return ComputeKey(self.common, self.key).specification(self.schema)

    def called_specification(self) -> list[Any]:
        items = key_items(self.schema, self.called, ranks=False)
        for position, argument in enumerate(self.schema.arguments):
            if argument.name in self.units:
                items[position] = UnitItem(items[position].kind)
        return items

    def identity(self) -> list[Encodable]:
        return [encode_record(self.specification()), list(self.units)]

    def encoded(self, kernels: dict[bytes, Kernel]) -> bytes:
        return encode_function(self.lower(), kernels)

    def keyed(self, kernels: dict[bytes, Kernel]) -> Encodable:
        return encode_record(KeyedFunction(self.specification(), self.encoded(kernels)))

    def to_differentiate(self) -> Self:
        if not self.units:
            return self
        return replace(self, graph=_with_units(self.graph, self.units))

    def derived(self, parts: Derived) -> PointwiseOp:
        promoted = sum(
            1 << k
            for k, (item, origin) in enumerate(
                zip(parts.key, parts.origins, strict=True)
            )
            if isinstance(item, TensorKey) and self._is_promoted(origin)
        )
        return PointwiseOp(
            reference=parts.reference,
            schema=parts.schema,
            kind="pointwise",
            arguments=[],
            key=parts.key,
            graph=parts.graph,
            places=parts.places,
            sources=parts.sources,
            node=parts.node,
            promoted=promoted,
            common=common_dtype(parts.key, promoted, False, self.common),
            called=parts.key,
        )

    def _is_promoted(self, origin: ArgumentSource) -> bool:
        """Operands that kept their dtype in the forward op keep it here."""
        if origin.origin == "gradient":
            return True
        if origin.origin == "result":
            return is_float(self.graph.outputs[origin.index].dtype)
        argument = origin.index
        if origin.origin == "tangent":
            numbers = {place.number: place.argument for place in self.places}
            argument = numbers[origin.index]
        return bool(self.promoted >> argument & 1)


@lru_cache(64)
def _with_units(graph: Graph, units: tuple[str, ...]) -> Graph:
    """``graph`` with the numbers ``units`` replaced by 1."""
    values = {s.attr: const(1, s.dtype) for s in graph_symbols(graph)}
    known = {name: values[name] for name in units if name in values}
    return renamed_graph(graph, known)


def pointwise_at(op: Op, compute: ComputeKey) -> PointwiseOp:
    """A declared op for a key after promotion."""
    graph = op.element_graph(compute.key)
    return PointwiseOp(
        reference=op.full_name,
        schema=op.schema,
        kind="pointwise",
        arguments=[],
        key=compute.key,
        graph=graph,
        places=tensor_places(op.schema, compute.key),
        sources=number_sources(op.schema, compute.key),
        node=op.node_name(compute.key),
        promoted=promoted_mask(op),
        common=compute.common,
        called=compute.key,
        rules=number_rules(op, graph, compute.common),
    )


def declared_pointwise(op: Op, arguments: Sequence[Any]) -> PointwiseOp:
    """A declared op for arguments as they were given."""
    arguments = bind_arguments(op.schema, arguments, {})
    called = element_key(op, op.specialise(*arguments).key)
    compute = compute_of(op.schema, called, promoted_mask(op), op.options.int_to_float)
    return replace(
        pointwise_at(op, compute),
        arguments=[
            encode_argument(value, argument)
            for value, argument in zip(arguments, op.schema.arguments, strict=True)
        ],
        called=called,
        node=op.node_name(called),
        units=unit_factors(op.schema, arguments),
    )


def unit_factors(schema: Schema, arguments: Sequence[Any]) -> tuple[str, ...]:
    """Numbers that are 1 where 1 is the default; plan/key.cpp tells them too."""
    return tuple(
        argument.name
        for argument, value in zip(schema.arguments, arguments, strict=True)
        if argument.type == "Scalar"
        and argument.has_default
        and _is_one(argument.default)
        and _is_one(value)
    )


def _is_one(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == 1 and value is not True


def compute_of(
    schema: Schema, called: Key, promoted: int, int_to_float: bool
) -> ComputeKey:
    common = common_dtype(called, promoted, int_to_float)
    key = compute_items(called, promoted, common)
    numbered = (
        number_key(argument, common) if isinstance(item, NumberKey) else item
        for item, argument in zip(key, schema.arguments, strict=True)
    )
    return ComputeKey(common, tuple(numbered))
