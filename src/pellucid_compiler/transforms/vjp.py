"""The reverse derivative: transpose of the linearisation.

``backward`` is what autograd runs, reading saved values; ``vjp`` recomputes them;
``joint`` is forward and backward as one Graph, from which the set of saved values is
determined.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.ir.graph import Graph
from pellucid_compiler.transforms.jvp import jvp
from pellucid_compiler.transforms.transpose import transpose


def vjp(graph: Graph, wrt: Sequence[int]) -> Graph:
    """(inputs, cotangents of the differentiable outputs) -> cotangents of ``wrt``."""
    n = len(graph.inputs)
    forward = jvp(graph, wrt)
    back = transpose(forward, list(range(n, len(forward.inputs))))
    back.name = f"{graph.name}.vjp"
    return back


def backward(graph: Graph, wrt: Sequence[int]) -> Graph:
    """(inputs, outputs, cotangents of the differentiable outputs) -> cotangents of
    ``wrt``.

    Its ``used_inputs`` are what autograd saves; other values are recomputed.
    """
    n = len(graph.inputs) + len(graph.outputs)
    forward = jvp(graph, wrt, given_outputs=True)
    back = transpose(forward, list(range(n, len(forward.inputs))))
    back.name = f"{graph.name}.backward"
    return back


def joint(graph: Graph, wrt: Sequence[int]) -> Graph:
    """(inputs, cotangents) -> (outputs, cotangents of ``wrt``), sharing common
    subexpressions.
    """
    g = Graph(f"{graph.name}.joint")
    inputs = [g.input_like(v) for v in graph.inputs]
    outputs = g.inline(graph, inputs)
    back = vjp(graph, wrt)
    cts = [g.input_like(v) for v in back.inputs[len(inputs) :]]
    g.outputs = outputs + g.inline(back, [*inputs, *cts])
    return g.prune()
