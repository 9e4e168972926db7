"""The symbols that a Graph needs bound before it runs."""

from __future__ import annotations

from collections.abc import Iterable

from pellucid_compiler.ir.expr import Expr
from pellucid_compiler.ir.graph import Graph, Value
from pellucid_compiler.ir.traversal import symbols


def graph_symbols(graph: Graph, values: Iterable[Value] = ()) -> list[Expr]:
    """The distinct syms of the nodes, of their results and of ``values``."""
    found: dict[Expr, None] = {}
    shapes = [*values, *graph.outputs]
    for node in graph.nodes:
        shapes += node.outputs
        found.update(dict.fromkeys(symbols(*node.primitive.exprs(node.attrs))))
        for body in node.primitive.bodies(node.attrs):
            found.update(dict.fromkeys(graph_symbols(body)))
    for value in shapes:
        found.update(dict.fromkeys(symbols(*value.shape)))
    return list(found)
