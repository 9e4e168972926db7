"""Which outputs of a Graph would share memory with its inputs.

A view shares memory, and so does a reshape where strides allow it. graph.py copies what
``copied_value`` names, so that ops other than views give memory of their own.
"""

from __future__ import annotations

from collections.abc import Container

from pellucid_compiler.ir.graph import Node, Value
from pellucid_compiler.ir.kinds import view_map
from pellucid_compiler.ir.primitives import LOOP, RESHAPE


def copied_value(output: Value, inputs: Container[Value]) -> Value | None:
    """The value to copy so that ``output`` has memory of its own; None if it has.

    Of a reshaped view that is the view: its copy is row-major, as reshapes like it.
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
