"""Graph ops at one key: a declared op's trace, or the derivative of such a one, as a
plan.

A ``GraphOp`` is what lowering and differentiation need of either. Read next:
derivatives.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pellucid_compiler.abi.encode import Encodable
from pellucid_compiler.declare.key import Key, bind_arguments, specialise
from pellucid_compiler.declare.op import Op
from pellucid_compiler.declare.schema import Schema
from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.lower.graph import Lowered, lower_graph
from pellucid_compiler.lower.registers import Source
from pellucid_compiler.lower.trees import with_trees_of
from pellucid_compiler.passes.manager import Observer
from pellucid_compiler.specialise.requests import (
    TensorPlace,
    encode_argument,
    number_sources,
    specification,
    tensor_places,
)
from pellucid_compiler.specialise.unify import unify_sizes


@dataclass(frozen=True, eq=False)
class GraphOp:
    """A Graph under a schema, for one key and one set of answers to its questions.

    ``reference`` names the op in requests: its full name, or the origin of a
    derivative; ``arguments`` are those of the request. ``places`` tells which argument
    each input of the Graph is; ``sources`` where the numbers are found in the call;
    ``hints`` the sizes and numbers it was traced with. ``anchor``: of a group, the op
    in it whose sums keep their bits. ``node`` names the nodes that record calls of it.

    ``saving_graph``: the Graph whose extra outputs the declaration saves for backward;
    None where it saves nothing. ``differentiated`` is differentiated in place of a
    Graph that reads such values: it has the same inputs and computes them. ``images``:
    its tensors may be channels-last.
    """

    reference: Encodable
    schema: Schema
    kind: str
    arguments: Encodable
    key: Key
    graph: Graph
    guards: Mapping[Expr, bool]
    places: Sequence[TensorPlace]
    sources: Mapping[str, Source]
    hints: Mapping[str, Any]
    node: str
    index_error: str = "IndexError"
    saving_graph: Graph | None = None
    differentiated: Graph | None = None
    is_derivative: bool = False
    images: bool = False
    anchor: GraphOp | None = None

    @property
    def name(self) -> str:
        return self.schema.full_name

    def specification(self) -> Encodable:
        return specification(self.schema, self.key)

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
        saving_graph=saving_graph,
        images=op.options.layout == "images",
    )
