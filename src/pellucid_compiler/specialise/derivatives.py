"""The derivatives of an op at one key and mask of inputs, which are ops too.

``derive`` makes gradients, ``derive_tangent`` tangents. The backward Graph reads
forward arguments and results, and gradients. The one of ``derive_saving`` also reads
what the declaration saves, and a forward op that returns these values too runs instead
of the op. Gradients of a pointwise op have the broadcast shape of all operands; the
engine sums them to the operands' shapes. Called by answer.py. Read next:
derivative_graphs.py, derivative_assembly.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pellucid_compiler.abi.encode import encode
from pellucid_compiler.declare.schema import parse_schema
from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.graph import Graph, Value
from pellucid_compiler.ir.primitives import CALL
from pellucid_compiler.specialise.derivative_assembly import Assembly, DerivativeOp
from pellucid_compiler.specialise.derivative_graphs import backward_graph, tangent_graph
from pellucid_compiler.specialise.derived_names import derived_name, origin_of
from pellucid_compiler.specialise.graphs import GraphOp
from pellucid_compiler.specialise.keyed import ArgumentSource, KeyedOp


def derive(op: KeyedOp, mask: int) -> DerivativeOp | None:
    """The derivative with respect to the inputs whose bits are set, or None."""
    op = op.to_differentiate()
    wrt = _moving_inputs(op, mask)
    outputs = [k for k, v in enumerate(op.graph.outputs) if is_float(v.dtype)]
    if not wrt or not outputs:
        return None
    wrt = [k for k in wrt if not _without_gradient(op.graph, k)]
    if not wrt:
        return DerivativeOp(None, (), (), (), 0, 0)
    backward = backward_graph(op.graph, op.graph, wrt)
    given = [ArgumentSource("gradient", k) for k in outputs]
    results = [op.places[k].number for k in wrt]
    return Assembly(op, "vjp", mask, backward, given, results).derivative()


def _without_gradient(graph: Graph, position: int) -> bool:
    """Whether hand rules alone read the input, and return None for it."""
    moving, is_refused = {graph.inputs[position]}, False
    for node in graph.nodes:
        read = [k for k, value in enumerate(node.inputs) if value in moving]
        if node.primitive is CALL and not {*read} & {*node.attrs.wrt}:
            is_refused |= bool(read)
        elif read:
            moving.update(node.outputs)
    return is_refused and not any(value in moving for value in graph.outputs)


def derive_saving(op: GraphOp, mask: int) -> DerivativeOp | None:
    """Like ``derive``, for a call that saves what its gradient reads."""
    found = derive(op, mask)
    if found is None or op.saving_graph is None:
        return found
    wrt = _moving_inputs(op, mask)
    backward = backward_graph(op.saving_graph, op.graph, wrt)
    first = len(op.graph.inputs) + len(op.graph.outputs)
    saved = range(first, len(op.graph.inputs) + len(op.saving_graph.outputs))
    read = [backward.inputs[k] for k in saved if k in backward.used_inputs()]
    if not read:
        return found
    given = [a for a in found.arguments if a.origin == "gradient"]
    given = [ArgumentSource("saved", k) for k in range(len(saved))] + given
    assembly = Assembly(op, "saved_vjp", mask, backward, given, found.results)
    if any(value.differentiable for value in read):
        assembly.differentiated = _recomputing_saved(op, backward, saved, wrt)
    return replace(assembly.derivative(), forward=saving_forward(op))


def _recomputing_saved(
    op: GraphOp, backward: Graph, saved: range, wrt: Sequence[int]
) -> Graph:
    """The backward Graph that recomputes the inputs ``saved`` of ``backward``."""
    graph = backward_graph(op.graph, op.graph, wrt)
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
    forward = tangent_graph(op.graph, wrt)
    given = [ArgumentSource("tangent", op.places[k].number) for k in wrt]
    return Assembly(op, "jvp", mask, forward, given, outputs).derivative()


def _moving_inputs(op: KeyedOp, mask: int) -> list[int]:
    return [
        position
        for position, place in enumerate(op.places)
        if mask >> min(place.number, 63) & 1
        and op.graph.inputs[position].differentiable
    ]
