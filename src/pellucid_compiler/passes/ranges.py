"""Splits a map where its body changes along an axis: ``cat`` becomes one copy per
piece, padding a fill and a copy.

A map with the body ``a if i < n else b``, with the same n for every point, is two loops
over parts of the axis that store into the same output; a padded load is a copy of the
part in bounds into an output filled with the padding. The lowering runs this before it
schedules maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pellucid_compiler.ir.affine import simplify
from pellucid_compiler.ir.boxes import (
    Range,
    box_extents,
    clamped,
    in_box,
    inside_box,
    shift_of,
)
from pellucid_compiler.ir.build import emit_loop, over_values
from pellucid_compiler.ir.expr import (
    Expr,
    cast,
    const,
    intern_expr,
    is_loaded,
    load_fill,
    load_index,
)
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.kinds import kind_of
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs, Store
from pellucid_compiler.ir.traversal import uses_axis
from pellucid_compiler.passes.bounds import conjuncts, is_bound


class Piece(NamedTuple):
    """The body on a box of the iteration space."""

    box: dict[int, Range]
    body: Expr


def split_ranges(
    graph: Graph, reads_pieces: Callable[[Node, Value], bool] = lambda n, v: False
) -> Graph:
    """``graph`` with every piecewise map split into its pieces, except values read only
    by nodes that, by ``reads_pieces``, read the pieces in place.
    """
    whole = read_in_pieces(graph, reads_pieces)
    split = {
        node: pieces
        for node in graph.nodes
        if node.primitive is LOOP
        and len(pieces := pieces_of(node)) > 1
        and node.outputs[0] not in whole
    }
    if not split:
        return graph
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        if node in split:
            env[node.outputs[0]] = _emit_pieces(g, node, env, split[node])
        else:
            g.copy_node(node, env)
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def read_in_pieces(
    graph: Graph, reads_pieces: Callable[[Node, Value], bool]
) -> set[Value]:
    """The values that all of their readers read in pieces."""
    found = {v for node in graph.nodes for v in node.inputs if reads_pieces(node, v)}
    if not found:
        return found
    uses = graph.uses()
    return {
        value
        for value in found
        if not uses.is_output(value)
        and all(reads_pieces(node, value) for node in uses.readers(value))
    }


def pieces_of(node: Node) -> list[Piece]:
    """The pieces of a map, which cover its output; later ones overwrite."""
    if kind_of(node) != "map":
        return []
    attrs: LoopAttrs = node.attrs
    body = attrs.stores[0].body
    return _padded(node, body) or list(_split(attrs, body, {}))


def _padded(node: Node, body: Expr) -> list[Piece]:
    """A padded load, possibly converted: its fill, then the part in bounds."""
    attrs: LoopAttrs = node.attrs
    found = _guarded_load(node, body)
    if found is None or not _is_uniform(found[1], attrs):
        return []
    inner, fill, source = found
    box = inside_box(attrs.extents, load_index(source), node.inputs[source.attr].shape)
    if box is None:
        return []
    return [Piece({}, fill), Piece(box, inner)]


def _guarded_load(node: Node, body: Expr) -> tuple[Expr, Expr, Expr] | None:
    """For a padded load or an equivalent select: the value in bounds, its fill, and the
    load; else None.
    """
    if body.op == "select":
        inner = body.args[1]
        source = inner.args[0] if inner.op == "cast" else inner
        if source.op != "load":
            return None
        index, shape = load_index(source), node.inputs[source.attr].shape
        tests = list(conjuncts(body.args[0]))  # a single one divides the space
        is_one = len(tests) > 1 and all(is_bound(t, index, shape) for t in tests)
        return (inner, body.args[2], source) if is_one else None
    source = body.args[0] if body.op == "cast" else body
    fill = load_fill(source) if source.op == "padded_load" else None
    if fill is None:
        return None
    inner = intern_expr("load", load_index(source), source.attr, source.dtype)
    return cast(inner, body.dtype), cast(fill, body.dtype), source


def _split(attrs: LoopAttrs, body: Expr, box: dict[int, Range]) -> Iterator[Piece]:
    while True:
        border = _border(attrs, body)
        if border is None:
            break
        a, bound, is_below = border
        start, stop = box.get(a, Range(const(0, "int64"), attrs.extents[a]))
        bound = clamped(bound, start, stop)
        below, above = body.args[1:] if is_below else body.args[:0:-1]
        yield from _split(attrs, below, {**box, a: Range(start, bound)})
        box, body = {**box, a: Range(bound, stop)}, above
    yield Piece(box, body)


def _border(attrs: LoopAttrs, body: Expr) -> tuple[int, Expr, bool] | None:
    """(axis, bound, whether the first branch is below it) for a select that changes
    along one axis; None if there are no loads, because nothing would be gained.
    """
    if body.op != "select" or not is_loaded(*body.args[1:]):
        return None
    condition, is_below = body.args[0], True
    if condition.op == "not":
        condition, is_below = condition.args[0], False
    if condition.op not in ("lt", "le"):
        return None
    low, high = condition.args
    if low.dtype != "int64":
        return None
    closed = condition.op == "le"
    if not _is_uniform(high, attrs):  # n < i, n <= i: the first branch is above
        low, high, closed, is_below = high, low, not closed, not is_below
    found = shift_of(low)
    if found is None or not _is_uniform(high, attrs):
        return None
    a, offset = found
    if not _is_uniform(offset, attrs):
        return None
    return a, simplify(high - offset + int(closed)), is_below


def _is_uniform(e: Expr, attrs: LoopAttrs) -> bool:
    return not uses_axis(e, range(len(attrs.extents))) and not is_loaded(e)


def _emit_pieces(
    g: Graph, node: Node, env: dict[Value, Value], pieces: list[Piece]
) -> Value:
    attrs: LoopAttrs = node.attrs
    inputs = [env[v] for v in node.inputs]
    result: Value | None = None
    for box, body in pieces:
        place = tuple(in_box(i, box) for i in attrs.stores[0].place)
        moved = in_box(over_values(body, inputs), box)
        result = emit_loop(
            g,
            box_extents(attrs.extents, box),
            [Store(place, moved)],
            "assign",
            attrs.shape,
            init=result,
            covered=result is None,
        )
    assert result is not None
    return result
