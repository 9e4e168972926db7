"""Sums of stores into disjoint places, merged into one loop with several stores.

The gradient of a tensor that is read slice by slice, like the gates of a recurrence, is
a sum of one store per slice. If the slices differ in a constant index along one dim,
nothing is added: each place is written once, and if the slices cover that dim, no fill
with zeros is needed. The lowering runs this after fusion.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.ir.build import emit_loop, stores_over
from pellucid_compiler.ir.expr import Expr, is_const, same_exprs
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.kinds import has_plain_store, kind_of
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs, Store


def merge_stores(graph: Graph) -> Graph:
    """``graph`` with every sum of stores into disjoint places merged."""
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        parts = _parts(node)
        dim = _merged_dim(parts)
        if dim is None:
            g.copy_node(node, env)
        else:
            env[node.outputs[0]] = _emit_merged(g, parts, env, dim)
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def _parts(node: Node) -> list[Node]:
    """The loops whose stores the map sums."""
    if node.primitive is not LOOP or kind_of(node) != "map":
        return []
    attrs: LoopAttrs = node.attrs
    terms, found = [attrs.store.body], []
    while terms:
        e = terms.pop()
        if e.op == "add":
            terms += e.args
            continue
        if e.op != "load" or not same_exprs(e.args, attrs.store.place):
            return []
        source = node.inputs[e.attr]
        if source.node is None or not same_exprs(source.shape, attrs.shape):
            return []
        found.append(source.node)
    return found[::-1]


def _merged_dim(parts: Sequence[Node]) -> int | None:
    """The dim along which the stores differ, each at its own constant index."""
    if len(parts) < 2 or not all(map(_is_slice, parts)):
        return None
    first: LoopAttrs = parts[0].attrs
    if not all(same_exprs(part.attrs.extents, first.extents) for part in parts):
        return None
    places: list[tuple[Expr, ...]] = [part.attrs.store.place for part in parts]
    dims = [d for d in range(len(first.shape)) if len({p[d] for p in places}) > 1]
    if len(dims) != 1 or len(set(places)) < len(places):
        return None
    (dim,) = dims
    return dim if all(place[dim].op == "const" for place in places) else None


def _is_slice(node: Node) -> bool:
    """Whether the loop writes a slice once: at whole axes and constant indices."""
    if node.primitive is not LOOP or has_plain_store(node.attrs):
        return False
    attrs: LoopAttrs = node.attrs
    if len(attrs.stores) > 1 or attrs.init is not None or attrs.combine != "sum":
        return False
    axes = [i.attr for i in attrs.store.place if i.op == "axis"]
    numbers = [i for i in attrs.store.place if i.op == "const"]
    return (
        not attrs.store.drop
        and len(axes) + len(numbers) == len(attrs.shape)
        and sorted(axes) == list(range(len(attrs.extents)))
    )


def _emit_merged(
    g: Graph, parts: Sequence[Node], env: dict[Value, Value], dim: int
) -> Value:
    attrs: LoopAttrs = parts[0].attrs
    stores: list[Store] = []
    for part in parts:
        stores += stores_over(part, [env[v] for v in part.inputs])
    whole = [
        is_const(n, 1) or d == dim or stores[0].place[d].op == "axis"
        for d, n in enumerate(attrs.shape)
    ]
    covered = all(whole) and is_const(attrs.shape[dim], len(parts))
    return emit_loop(g, attrs.extents, stores, "assign", attrs.shape, covered=covered)
