"""Loop indices that a body computes with, as loads from tables of indices.

A mask such as ``j <= i`` reads the indices of its point. Only the general nest knows
them, and it runs a point at a time; an operand that holds ``0, 1, 2, ...`` and moves
along one axis gives every affine form the same numbers. A loop is rewritten if that
makes it affine. A loop over one axis keeps its index: its table would be as long as its
result. Called by graph.py before lowering.
"""

from __future__ import annotations

from collections.abc import Callable

from pellucid.compiler.lower.loops import is_affine, loop_shape
from pellucid.ir.build import element, emit_loop, emit_map, over_values
from pellucid.ir.expr import LOADS, Expr, axis, const, rebuild
from pellucid.ir.graph import Graph, Node, Value
from pellucid.ir.primitives import LOOP, LoopAttrs, Store


def tabulate_indices(graph: Graph) -> Graph:
    """``graph`` with tables of indices where they make a loop affine."""
    if not any(_reads_indices(node) for node in graph.nodes):
        return graph
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        made = _tabulated(g, node, env) if _reads_indices(node) else None
        if made is None:
            g.copy_node(node, env)
        else:
            env[node.outputs[0]] = made
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def _reads_indices(node: Node) -> bool:
    if node.primitive is not LOOP or len(node.attrs.extents) < 2:
        return False
    attrs: LoopAttrs = node.attrs
    if attrs.payload is not None or loop_shape(attrs) is None:
        return False
    body = attrs.store.body
    return _replace_indices(body, lambda _: const(0, "int64")) is not body


def _tabulated(g: Graph, node: Node, env: dict[Value, Value]) -> Value | None:
    """The loop with its indices loaded, or None if that does not make it affine."""
    attrs: LoopAttrs = node.attrs

    def index(number: int) -> Expr:
        table = emit_map(g, [attrs.extents[number]], lambda i: i)
        return element(table, [axis(number)])

    inputs = [env[value] for value in node.inputs]
    body = over_values(attrs.store.body, inputs)
    made = emit_loop(
        g,
        attrs.extents,
        [Store(attrs.store.place, _replace_indices(body, index))],
        attrs.combine,
        attrs.shape,
        covered=attrs.covered,
    )
    return made if made.node is not None and is_affine(made.node) else None


def _replace_indices(body: Expr, index: Callable[[int], Expr]) -> Expr:
    """``body`` with ``index(a)`` for every axis that it reads as a number."""
    memo: dict[Expr, Expr] = {}

    def replace(e: Expr) -> Expr:
        if e.op in LOADS:
            return e
        if e.op == "axis":
            return index(e.attr)
        if e not in memo:
            memo[e] = rebuild(e, tuple(replace(a) for a in e.args))
        return memo[e]

    return replace(body)
