"""Splitting a loop where its body changes along an axis: ``cat`` becomes one copy per
piece.

A map whose body is ``a if i < n else b``, with n the same for every point, is two loops
over parts of the axis, each storing into the same output. The lowering runs this before
it schedules maps; the parts are views and plain maps.
"""

from __future__ import annotations

from typing import NamedTuple

from pellucid.ir.affine import simplify
from pellucid.ir.build import emit_loop, over_values
from pellucid.ir.expr import (
    LOADS,
    Expr,
    axis,
    const,
    intern_expr,
    loads,
    rewrite,
    uses_axis,
    walk,
)
from pellucid.ir.graph import Graph, Node, Value
from pellucid.ir.kinds import kind_of
from pellucid.ir.primitives import LOOP, LoopAttrs, Store


class Split(NamedTuple):
    """The body is ``below`` where the axis is less than ``bound``, else ``above``."""

    axis: int
    bound: Expr
    below: Expr
    above: Expr


class Piece(NamedTuple):
    start: Expr
    stop: Expr
    body: Expr


def split_ranges(graph: Graph) -> Graph:
    """``graph`` with every map whose body is piecewise in one axis split into
    its pieces.
    """
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        pieces = _pieces(node) if node.primitive is LOOP else None
        if pieces is None:
            g.copy_node(node, env)
        else:
            along, parts = pieces
            env[node.outputs[0]] = _emit_pieces(g, node, env, along, parts)
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def _pieces(node: Node) -> tuple[int, list[Piece]] | None:
    """The axis and the parts of a piecewise map, in order; None if it is no
    such map.
    """
    attrs: LoopAttrs = node.attrs
    if kind_of(node) != "map":
        return None
    body, start = attrs.stores[0].body, const(0, "int64")
    along: int | None = None
    parts: list[Piece] = []
    while (split := _split_of(body, attrs)) is not None:
        if along not in (None, split.axis):
            break
        along = split.axis
        parts.append(Piece(start, split.bound, split.below))
        start, body = split.bound, split.above
    if along is None:
        return None
    return along, [*parts, Piece(start, attrs.extents[along], body)]


def _split_of(body: Expr, attrs: LoopAttrs) -> Split | None:
    """``select(axis < bound, ...)`` whose branches load: otherwise nothing is
    gained.
    """
    if body.op != "select" or body.args[0].op != "lt":
        return None
    place, bound = body.args[0].args
    below, above = body.args[1:]
    axes = set(range(len(attrs.extents)))
    fixed = not uses_axis(bound, axes) and not loads(bound)
    if place.op != "axis" or not fixed or not (loads(below) and loads(above)):
        return None
    if not _is_partial_sum(bound, attrs.extents[place.attr]):
        return None
    return Split(place.attr, bound, below, above)


def _is_partial_sum(bound: Expr, extent: Expr) -> bool:
    """Whether ``bound`` is a term on the way to ``extent``, so surely not beyond it."""
    return any(e is bound for e in walk(extent))


def _emit_pieces(
    g: Graph, node: Node, env: dict[Value, Value], along: int, parts: list[Piece]
) -> Value:
    attrs: LoopAttrs = node.attrs
    inputs = [env[v] for v in node.inputs]
    result: Value | None = None
    for part in parts:
        place = part.start + axis(along)
        moved = _shifted(over_values(part.body, inputs), along, place)
        stored = tuple(_shifted(i, along, place) for i in attrs.stores[0].place)
        extents = list(attrs.extents)
        extents[along] = simplify(part.stop - part.start)
        result = emit_loop(
            g,
            extents,
            [Store(stored, moved)],
            "assign",
            attrs.shape,
            init=result,
            covered=result is None,
        )
    assert result is not None
    return result


def _shifted(e: Expr, along: int, place: Expr) -> Expr:
    """``e`` at ``place`` along the axis, with the indices of its loads cancelled."""

    def leaf(n: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if n.op in LOADS:
            return intern_expr(n.op, tuple(map(simplify, args)), n.attr, n.dtype)
        return place if n.op == "axis" and n.attr == along else None

    return rewrite(e, leaf)
