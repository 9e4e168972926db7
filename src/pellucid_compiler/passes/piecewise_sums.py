"""Sums of products with an operand that is piecewise along a summed axis.

The states before every step, which a weight's gradient reads, are the first state
followed by those after every step but the last; as one operand they would have to be
copied. Instead, the sum over all times becomes one product per piece, each of which
reads its piece in place. The lowering runs this after fusion. Read next: ``ranges.py``,
``products.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pellucid_compiler.ir.boxes import Box, box_extents, in_box
from pellucid_compiler.ir.build import (
    element,
    emit_loop,
    emit_sum,
    expand_leading,
    over_values,
)
from pellucid_compiler.ir.expr import Expr, axis, load_index
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.kinds import kind_of, stored_rank
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs, Store
from pellucid_compiler.ir.traversal import loads, substitute, uses_axis
from pellucid_compiler.passes.ranges import Piece, pieces_of


class _Factor(NamedTuple):
    """A load of a piecewise value in a contraction."""

    load: Expr
    made: Node
    pieces: list[Piece]


def split_sums(
    graph: Graph, reads_pieces: Callable[[Node, Value], bool] = lambda n, v: False
) -> Graph:
    """``graph`` with the contractions over such operands split, if these are read by
    nothing else except nodes that, by ``reads_pieces``, read the pieces in place.
    """
    split = _split_factors(graph, reads_pieces)
    if not split:
        return graph
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        if node in split:
            env[node.outputs[0]] = _emit_products(g, node, split[node], env)
        else:
            g.copy_node(node, env)
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def _split_factors(
    graph: Graph, reads_pieces: Callable[[Node, Value], bool]
) -> dict[Node, _Factor]:
    """The contractions to split: every reader of their operand reads its pieces."""
    found = {node: f for node in graph.nodes if (f := _factor(node)) is not None}
    if not found:
        return found
    uses = graph.uses()

    def is_in_pieces(value: Value) -> bool:
        return not uses.is_output(value) and all(
            (reader in found and found[reader].load.attr is value)
            or reads_pieces(reader, value)
            for reader in uses.readers(value)
        )

    return {node: f for node, f in found.items() if is_in_pieces(f.load.attr)}


def _factor(node: Node) -> _Factor | None:
    """The only piecewise operand of a contraction, if only summed axes are split."""
    if node.primitive is not LOOP or kind_of(node) != "contraction":
        return None
    attrs: LoopAttrs = node.attrs
    body = over_values(attrs.store.body, node.inputs)
    found = []
    for e in loads(body):
        made = e.attr.node
        pieces = [] if made is None or e.op != "load" else _loaded_pieces(made)
        if len(pieces) > 1:
            found.append(_Factor(e, made, pieces))
    if len(found) != 1 or body.op != "mul" or attrs.init is not None:
        return None
    stored, index = stored_rank(attrs), load_index(found[0].load)
    axes = _axes_of_dims(found[0].made)
    along = [index[axes.index(a)] for piece in found[0].pieces for a in piece.box]
    is_summed = all(i.op == "axis" and i.attr >= stored for i in along)
    return found[0] if is_summed else None


def _loaded_pieces(node: Node) -> list[Piece]:
    """The pieces of a map if each of them is a load; else none."""
    pieces = pieces_of(node) if node.primitive is LOOP else []
    return pieces if all(piece.body.op == "load" for piece in pieces) else []


def _axes_of_dims(made: Node) -> list[int | None]:
    place = made.attrs.store.place
    return [i.attr if i.op == "axis" else None for i in place]


def _emit_products(
    g: Graph, node: Node, factor: _Factor, env: dict[Value, Value]
) -> Value:
    """The sum of one product per piece."""
    attrs: LoopAttrs = node.attrs
    body = over_values(over_values(attrs.store.body, node.inputs), env)
    axes, index = _axes_of_dims(factor.made), load_index(factor.load)
    moved = {axis(a): i for a, i in zip(axes, index, strict=True) if a is not None}
    whole: Value | None = None
    for piece in factor.pieces:
        box: Box = {index[axes.index(a)].attr: r for a, r in piece.box.items()}
        extents = box_extents(attrs.extents, box)
        read = substitute(over_values(piece.body, factor.made.inputs), moved)
        read = in_box(over_values(read, env), box)
        for a in box:
            read = _moving_along(g, read, a, extents[a])
        place = in_box(over_values(factor.load, env), box)
        term = substitute(in_box(body, box), {place: read})
        part = emit_loop(
            g, extents, [Store(attrs.store.place, term)], shape=attrs.shape
        )
        whole = emit_sum(g, whole, part)
    assert whole is not None
    return whole


def _moving_along(g: Graph, read: Expr, along: int, extent: Expr) -> Expr:
    """The load with an index that moves along the axis, as summed axes of a product
    must. A load that does not is broadcast along it, which takes no memory.
    """
    index = load_index(read)
    if any(uses_axis(i, {along}) for i in index):
        return read
    return element(expand_leading(g, read.attr, extent), [axis(along), *index])
