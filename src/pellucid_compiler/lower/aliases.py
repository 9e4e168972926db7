"""Which outputs of a Graph would share memory with its inputs.

A view shares memory, and so does a reshape if the strides allow it. The lowering copies
the values that ``copied_value`` names, so that ops other than views return memory of
their own.
"""

from __future__ import annotations

from collections.abc import Container

from pellucid_compiler.ir.build import emit_copy
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.kinds import view_map
from pellucid_compiler.ir.primitives import LOOP, RESHAPE


def copied_value(output: Value, inputs: Container[Value]) -> Value | None:
    """The value to copy so that ``output`` has memory of its own; None if it has.

    For a reshaped view this is the view: its copy is row-major, which suits reshapes.
    """
    value, view = output, None
    while value.node is not None and _may_share(value.node):
        if view is None and value.node.primitive is LOOP:
            view = value
        value = value.node.inputs[0]
    return (view or output) if value in inputs else None


def _may_share(node: Node) -> bool:
    if node.primitive is RESHAPE:
        return True
    return node.primitive is LOOP and view_map(node) is not None


def with_own_outputs(graph: Graph, may_alias: bool) -> Graph:
    """Outputs that are inputs, possibly reshaped, become loops, which can be views or
    copies.
    """
    inputs = set(graph.inputs)

    def is_input(value: Value) -> bool:
        if may_alias or value.node is None or value.node.primitive is not RESHAPE:
            return value in inputs
        return copied_value(value, inputs) is value

    graph.outputs = [
        emit_copy(graph, value) if is_input(value) else value for value in graph.outputs
    ]
    return graph


def with_distinct_outputs(graph: Graph) -> Graph:
    """A copy for each output that repeats an earlier one, as the extrema of a single
    number do: a program may write to one of them.
    """
    outputs = graph.outputs
    graph.outputs = [
        emit_copy(graph, value) if value in outputs[:k] else value
        for k, value in enumerate(outputs)
    ]
    return graph
