"""Which Graphs only move elements, that is, compute nothing.

The diagnosis reports such an op as a copy, and a tensor of integers with a scale keeps
the scale. ``offers.py`` tests the same for dtypes without arithmetic.
"""

from __future__ import annotations

from pellucid_compiler.ir.expr import Expr, is_loaded, load_index
from pellucid_compiler.ir.graph import Graph, Node
from pellucid_compiler.ir.kinds import has_plain_store, stored_rank
from pellucid_compiler.ir.primitives import CALL, LOOP, RESHAPE
from pellucid_compiler.ir.traversal import loads


def moves_elements(graph: Graph) -> bool:
    """Whether each element of the outputs is one of the inputs, converted at most."""
    return last_to_compute(graph) is None


def last_to_compute(graph: Graph) -> Node | None:
    """The last node that does more than move elements."""
    return next((n for n in reversed(graph.nodes) if not moves(n)), None)


def reads_places(graph: Graph) -> bool:
    """Whether elements are used as indices of others."""
    bodies = [node.attrs.body for node in graph.nodes if node.primitive is CALL]
    found = [
        index
        for node in graph.nodes
        if node.primitive is LOOP
        for store in node.attrs.stores
        for e in loads(store.body)
        for index in load_index(e)
    ]
    return is_loaded(*found) or any(map(reads_places, bodies))


def moves(node: Node) -> bool:
    """Whether a node only moves elements."""
    if node.primitive is CALL:
        return moves_elements(node.attrs.body)
    if node.primitive is not LOOP:
        return node.primitive is RESHAPE
    attrs = node.attrs
    if attrs.payload is not None or attrs.init is not None:
        return False
    if len(attrs.extents) > stored_rank(attrs):
        return False
    is_whole = attrs.covered or has_plain_store(attrs)
    return is_whole and all(_is_moved(store.body) for store in attrs.stores)


def _is_moved(e: Expr) -> bool:
    """An element, or a choice among elements that depends only on indices."""
    if e.op == "select":
        condition, first, second = e.args
        return not is_loaded(condition) and _is_moved(first) and _is_moved(second)
    if e.op == "cast":
        return _is_moved(e.args[0])
    return e.op == "load"
