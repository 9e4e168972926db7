"""Fusion: maps, views and gathers are inlined into the loops that read them.

A load of an inlined value becomes its body, so the bits are those of the separate
loops: every rounding that a boundary makes is an explicit cast. Differentiate first,
then fuse: the derivative of a fused body may differ where a ``select`` hides an
infinity. A factor that a contraction reads again and again stays a value of its own: it
is computed once, and the contraction stays a matrix product.
"""

from __future__ import annotations

from pellucid.ir.affine import Bounds
from pellucid.ir.build import emit_loop
from pellucid.ir.expr import (
    LOADS,
    Expr,
    const,
    load_fill,
    loads,
    rewrite,
    select,
    uses_axis,
    with_operand,
)
from pellucid.ir.graph import Graph, Node, Value
from pellucid.ir.kinds import kind_of, stored_rank
from pellucid.ir.primitives import CALL, LOOP, LoopAttrs, Store

INLINED = ("map", "view", "factory", "gather")


def inline_calls(graph: Graph) -> Graph:
    """Replace every ``call`` by its body, once its hand rule has served."""
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        if node.primitive is CALL:
            body = inline_calls(node.attrs.body)
            outputs = g.inline(body, [env[v] for v in node.inputs])
            env.update(zip(node.outputs, outputs, strict=True))
        else:
            g.copy_node(node, env)
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def fuse(graph: Graph) -> Graph:
    """``graph`` with calls inlined and every one-element loop inlined into its
    readers.
    """
    graph = inline_calls(graph)
    g = Graph(f"{graph.name}.fused")
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    bodies: dict[Value, tuple[Expr, dict[int, int]]] = {}
    for node in graph.nodes:
        if node.primitive is LOOP:
            _fuse_loop(g, node, env, bodies)
        else:
            g.copy_node(node, env)
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def _fuse_loop(
    g: Graph,
    node: Node,
    env: dict[Value, Value],
    bodies: dict[Value, tuple[Expr, dict[int, int]]],
) -> None:
    attrs: LoopAttrs = node.attrs
    bounds = Bounds(attrs.extents)
    memo: dict[Expr, Expr] = {}
    is_contraction = kind_of(node) == "contraction"
    num_kept = stored_rank(attrs)

    def is_kept(value: Value, args: tuple[Expr, ...]) -> bool:
        """Whether the factor is computed, and read at several points of the result."""
        if not is_contraction or is_moved(bodies[value][0]):
            return False
        return not all(any(uses_axis(i, {a}) for i in args) for a in range(num_kept))

    def leaf(e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if e.op not in LOADS:
            return None
        value = node.inputs[e.attr]
        if value not in bodies or is_kept(value, args):
            return with_operand(e, env[value], args)
        body, dim_of_axis = bodies[value]
        return _inlined(e, args, value, body, dim_of_axis, bounds)

    def moved(e: Expr) -> Expr:
        return rewrite(e, leaf, memo)

    stores = [
        Store(tuple(map(moved, s.place)), moved(s.body), s.drop) for s in attrs.stores
    ]
    if kind_of(node) in INLINED:
        dims = {i.attr: d for d, i in enumerate(attrs.store.place) if i.op == "axis"}
        bodies[node.outputs[0]] = stores[0].body, dims
    env[node.outputs[0]] = emit_loop(
        g,
        attrs.extents,
        stores,
        attrs.combine,
        attrs.shape,
        None if attrs.payload is None else moved(attrs.payload),
        None if attrs.init is None else env[node.inputs[attrs.init]],
        attrs.covered,
    )


def is_moved(body: Expr) -> bool:
    """Whether a body takes its elements from elsewhere and computes nothing."""
    if body.op == "cast":
        body = body.args[0]
    return body.op in LOADS or not loads(body)


def _inlined(
    e: Expr,
    args: tuple[Expr, ...],
    value: Value,
    body: Expr,
    dim_of_axis: dict[int, int],
    bounds: Bounds,
) -> Expr:
    """The body in place of the load; where a padded load may be outside, guarded."""
    place = args[:-1] if e.op == "padded_load" else args
    inner = rewrite(
        body, lambda m, _: place[dim_of_axis[m.attr]] if m.op == "axis" else None
    )
    fill = load_fill(e)
    if fill is None:
        return inner
    inside: Expr = const(True)
    for i, n in zip(place, value.shape, strict=True):
        if not bounds.is_nonnegative(i):
            inside = inside & (i >= 0)
        if not bounds.is_less(i, n):
            inside = inside & (i < n)
    return select(inside, inner, args[-1])
