"""Argmax loops that no kernel form runs whole, as three loops that have one.

An argmax over padded or gathered elements, or one that gives something else than the
position (max_pool2d), first computes its elements, then finds the position of the
greatest, then computes what is asked of that position. Called by graph.py before
lowering.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.compiler.lower.loops import is_affine, loop_shape
from pellucid.ir.build import element, emit_loop, emit_map, over_values
from pellucid.ir.expr import Expr, axis, const, rewrite
from pellucid.ir.graph import Graph, Node, Value
from pellucid.ir.primitives import LOOP, LoopAttrs, Store


def split_argmax(graph: Graph) -> Graph:
    """``graph`` with every argmax that has no kernel form split; others are kept."""
    if not any(_is_stuck(node) for node in graph.nodes):
        return graph
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        if _is_stuck(node):
            env[node.outputs[0]] = _split(g, node, [env[v] for v in node.inputs])
        else:
            g.copy_node(node, env)
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def _is_stuck(node: Node) -> bool:
    if node.primitive is not LOOP or node.attrs.payload is None:
        return False
    return not is_affine(node)


def _split(g: Graph, node: Node, inputs: Sequence[Value]) -> Value:
    attrs: LoopAttrs = node.attrs
    shape = loop_shape(attrs)
    assert shape is not None and attrs.payload is not None
    extents = [attrs.extents[a] for a in shape.order]
    place = {axis(old): axis(new) for new, old in enumerate(shape.order)}
    body = _moved(over_values(attrs.store.body, inputs), place)
    elements = emit_map(g, extents, lambda *p: body)
    count = len(shape.kept)
    rank = len(extents)
    everywhere = [axis(k) for k in range(rank)]
    position: Expr = const(0, "int64")
    for k in range(count, rank):
        position = position * extents[k] + everywhere[k]
    store = Store(tuple(everywhere[:count]), element(elements, everywhere))
    best = emit_loop(
        g, extents, [store], attrs.combine, extents[:count], payload=position
    )
    payload = _moved(over_values(attrs.payload, inputs), place)
    found = _at_position(payload, element(best, everywhere[:count]), extents, count)
    return emit_loop(
        g,
        [attrs.extents[a] for a in shape.kept],
        [Store(_stored(attrs, shape.kept), found)],
        "assign",
        attrs.shape,
        covered=True,
    )


def _moved(e: Expr, place: dict[Expr, Expr]) -> Expr:
    return rewrite(e, lambda n, _: place.get(n) if n.op == "axis" else None)


def _at_position(e: Expr, best: Expr, extents: Sequence[Expr], count: int) -> Expr:
    """``e`` with the reduced axes taken from the flat position ``best``."""
    values: dict[Expr, Expr] = {}
    rest = best
    for k in reversed(range(count, len(extents))):
        values[axis(k)] = rest % extents[k] if k > count else rest
        rest = rest // extents[k]
    return _moved(e, values)


def _stored(attrs: LoopAttrs, kept: Sequence[int]) -> tuple[Expr, ...]:
    number = {old: new for new, old in enumerate(kept)}
    return tuple(
        axis(number[i.attr]) if i.op == "axis" else i for i in attrs.store.place
    )
