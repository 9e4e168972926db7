"""The reverse derivative: transpose of the linearisation.

``vjp`` is what autograd's backward runs; ``joint`` is forward and backward as one
Graph, from which the set of saved values is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.ir.graph import Graph, Value
from pellucid.transforms.jvp import jvp
from pellucid.transforms.transpose import transpose


def vjp(graph: Graph, wrt: Sequence[int]) -> Graph:
    """(inputs, cotangents of the differentiable outputs) -> cotangents of ``wrt``."""
    n = len(graph.inputs)
    forward = jvp(graph, wrt)
    back = transpose(forward, list(range(n, len(forward.inputs))))
    back.name = f"{graph.name}.vjp"
    return back


def joint(graph: Graph, wrt: Sequence[int]) -> Graph:
    """(inputs, cotangents) -> (outputs, cotangents of ``wrt``), sharing what they
    share.
    """
    g = Graph(f"{graph.name}.joint")
    inputs = [g.input_like(v) for v in graph.inputs]
    outputs = g.inline(graph, inputs)
    back = vjp(graph, wrt)
    cts = [g.input_like(v) for v in back.inputs[len(inputs) :]]
    g.outputs = outputs + g.inline(back, [*inputs, *cts])
    return g.prune()


def saved_values(graph: Graph, wrt: Sequence[int]) -> list[Value]:
    """The values of ``joint``'s forward part that its backward part reads.

    Inputs and outputs among them are what autograd saves; others are recomputed or
    saved.
    """
    whole = joint(graph, wrt)
    late: set[Value] = set(whole.inputs[len(graph.inputs) :])
    found: dict[Value, None] = {}
    for node in whole.nodes:
        if not late.isdisjoint(node.inputs):
            late.update(node.outputs)
            found.update((v, None) for v in node.inputs if v not in late)
    return list(found)
