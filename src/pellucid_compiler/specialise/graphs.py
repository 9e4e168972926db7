"""Graph ops at one key: a declared op's trace, or a derivative of one, as a plan. Read
next: derivatives.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from pellucid_compiler.abi.encode import Encodable
from pellucid_compiler.abi.fields import encode_record
from pellucid_compiler.abi.items import KEY
from pellucid_compiler.abi.plan import encode_plan
from pellucid_compiler.abi.records import KeyedPlan
from pellucid_compiler.codegen.kernel import Kernel
from pellucid_compiler.declare.key import bind_arguments, specialise
from pellucid_compiler.declare.op import Op
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.lower.graph import Lowered, lower_graph
from pellucid_compiler.lower.trees import with_trees_of
from pellucid_compiler.passes.manager import Observer
from pellucid_compiler.specialise.keyed import Derived, KeyedOp
from pellucid_compiler.specialise.requests import (
    encode_argument,
    key_items,
    number_sources,
    tensor_places,
)
from pellucid_compiler.specialise.unify import unify_sizes


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphOp(KeyedOp):
    """A Graph of tensors, which a plan runs.

    ``hints``: the sizes and numbers it was traced with. ``anchor``: of a group, the op
    in it whose sums keep their bits. ``saving_graph``: the Graph whose additional
    outputs the declaration saves for backward; None if it saves nothing.
    ``differentiated`` is differentiated instead of a Graph that reads such values: it
    has the same inputs and computes them. ``images``: its tensors may be channels-last.
    """

    broadcasts = False

    hints: Mapping[str, Any]
    index_error: str = "IndexError"
    index_message: str = ""
    saving_graph: Graph | None = None
    differentiated: Graph | None = None
    is_derivative: bool = False
    images: bool = False
    anchor: GraphOp | None = None

    def specification(self) -> list[Any]:
        return key_items(self.schema, self.key)

    def called_specification(self) -> list[Any]:
        return self.specification()

    def identity(self) -> list[Encodable]:
        answers: list[Encodable] = [[str(e), a] for e, a in self.guards.items()]
        return [[KEY.encode(item) for item in self.specification()], answers]

    def encoded(self, kernels: dict[bytes, Kernel]) -> bytes:
        lowered = self.lower()
        kernels.update(lowered.kernels)
        return encode_plan(lowered.plan)

    def keyed(self, kernels: dict[bytes, Kernel]) -> Encodable:
        return encode_record(KeyedPlan(self.specification(), self.encoded(kernels)))

    def to_differentiate(self) -> Self:
        if self.differentiated is None:
            return self
        return replace(self, graph=self.differentiated, differentiated=None)

    def derived(self, parts: Derived) -> GraphOp:
        return GraphOp(
            reference=parts.reference,
            schema=parts.schema,
            kind="fused",
            arguments=[],
            key=parts.key,
            graph=parts.graph,
            places=parts.places,
            sources=parts.sources,
            node=parts.node,
            hints=self.hints,
            differentiated=parts.differentiated,
            is_derivative=True,
            images=self.images,
        )

    def lower(self, observe: Observer | None = None) -> Lowered:
        """The plan; views and derivatives may share memory with their arguments.
        ``observe`` receives each pass.
        """
        may_alias = self.kind == "view" or self.is_derivative
        lowered = lower_graph(
            self.graph,
            self.sources,
            name=self.name,
            guards=tuple(self.guards.items()),
            may_alias=may_alias,
            index_error=self.index_error,
            index_message=self.index_message,
            images=self.images,
            contracts=self.anchor is None,
            observe=observe,
        )
        if self.anchor is None:
            return lowered
        return with_trees_of(lowered, self.anchor.lower())


def declared_graph(op: Op, arguments: Sequence[Any]) -> GraphOp:
    """A declared op for the key of ``arguments`` (TensorLikes, numbers, statics)."""
    arguments = bind_arguments(op.schema, arguments, {})
    call = specialise(op.schema, arguments, {})
    traced = op.trace(call.key, call.env)
    full = unify_sizes(traced.graph, traced.nominal, traced.guards)
    saving_graph = (
        full.with_outputs([*full.outputs, *full.saved]) if full.saved else None
    )
    return GraphOp(
        reference=op.full_name,
        schema=op.schema,
        kind=op.kind,
        arguments=[
            encode_argument(value, argument)
            for value, argument in zip(arguments, op.schema.arguments, strict=True)
        ],
        key=call.key,
        graph=full.with_outputs(full.outputs) if full.saved else full,
        guards=traced.guards,
        places=tensor_places(op.schema, call.key),
        sources=number_sources(op.schema, call.key),
        hints=call.env,
        node=op.node_name(call.key),
        index_error=op.options.index_error.__name__,
        index_message=op.options.index_message,
        saving_graph=saving_graph,
        images=op.options.layout == "images",
    )
