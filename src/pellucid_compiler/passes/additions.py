"""Sums stored at strided places: gradients of strided windows.

A sum stored at ``stride * i + tap`` cannot be solved into a gather (ir/gather_form.py).
Its store runs as one strided map per tap, which requires that every place is in bounds:
terms beyond the output are added into a larger buffer, of which the output is a part.
Parts of the summed values that depend only on indices become tables. The lowering runs
this after fusion; products.py uses it to add its products. Read next: lower/stores.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.ir.affine import Bounds, linear_in, simplify
from pellucid_compiler.ir.build import (
    element,
    emit_loop,
    emit_map,
    over_values,
    padded_element,
)
from pellucid_compiler.ir.dtypes import stored_dtype
from pellucid_compiler.ir.expr import (
    LOADS,
    Expr,
    axis,
    cast,
    const,
    is_loaded,
    load_index,
    make,
)
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs, Store
from pellucid_compiler.ir.traversal import axes_of, substitute


def widen_additions(graph: Graph) -> Graph:
    """``graph`` with strided sums that drop places replaced by ones that drop none."""
    widened = {n for n in graph.nodes if n.primitive is LOOP and _needs_widening(n)}
    if not widened:
        return graph
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        if node in widened:
            attrs: LoopAttrs = node.attrs
            body = over_values(attrs.store.body, [env[v] for v in node.inputs])
            body = _with_tables(g, body, attrs.extents)
            store = attrs.store._replace(body=body)
            env[node.outputs[0]] = (
                emit_addition(g, attrs.extents, store.place, body, attrs.shape)
                if store.drop
                else _emit_in_place(g, attrs.extents, store, attrs.shape)
            )
        else:
            g.copy_node(node, env)
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def _needs_widening(node: Node) -> bool:
    attrs: LoopAttrs = node.attrs
    if attrs.combine != "sum" or len(attrs.stores) != 1 or attrs.init is not None:
        return False
    place = attrs.store.place
    meets = any(len(axes_of(i)) > 1 for i in place)
    return (
        meets
        and all(map(is_linear, place))
        and (attrs.store.drop or bool(_index_parts(attrs.store.body)))
    )


def emit_addition(
    g: Graph,
    extents: Sequence[Expr],
    place: Sequence[Expr],
    body: Expr,
    shape: Sequence[Expr],
) -> Value:
    """Add ``body`` (its loads name Values) at ``place``, beyond the output too; then
    return only the output.
    """
    starts, sizes = reach(place, shape, extents)
    inside = tuple(simplify(i - low) for i, low in zip(place, starts, strict=True))
    whole = _emit_in_place(g, extents, Store(inside, body), sizes)
    if all(a is b for a, b in zip(sizes, shape, strict=True)):
        return whole
    return emit_map(
        g,
        shape,
        lambda *p: padded_element(
            whole, [i - low for i, low in zip(p, starts, strict=True)], 0
        ),
    )


def _emit_in_place(
    g: Graph, extents: Sequence[Expr], store: Store, shape: Sequence[Expr]
) -> Value:
    return emit_loop(g, extents, [store], shape=shape, solves=False)


def _with_tables(g: Graph, body: Expr, extents: Sequence[Expr]) -> Expr:
    """``body`` with its parts that depend only on indices as loads from tables."""
    return substitute(body, {e: _table(g, e, extents) for e in _index_parts(body)})


def _index_parts(body: Expr) -> list[Expr]:
    """The largest parts that read indices and no element."""
    found: dict[Expr, None] = {}
    seen: set[Expr] = set()
    left = [body]
    while left:
        e = left.pop()
        if e in seen or not axes_of(e):
            continue
        seen.add(e)
        if not is_loaded(e):
            found[e] = None
        elif e.op in LOADS:
            left += e.args[len(load_index(e)) :]
        else:
            left += e.args
    return list(found)


def _table(g: Graph, part: Expr, extents: Sequence[Expr]) -> Expr:
    numbers = sorted(axes_of(part))
    moved = {axis(old): axis(new) for new, old in enumerate(numbers)}
    value = cast(substitute(part, moved), stored_dtype(part.dtype))
    table = emit_map(g, [extents[a] for a in numbers], lambda *_: value)
    return cast(element(table, [axis(a) for a in numbers]), part.dtype)


# ------------------------------------------------------------------ places


def is_linear(index: Expr) -> bool:
    """Whether the index is a sum of axes times numbers of the whole call."""
    rest = index
    if is_loaded(index):
        return False
    for a in sorted(axes_of(index)):
        split = linear_in(rest, a)
        if split is None or axes_of(split[0]):
            return False
        rest = split[1]
    return not axes_of(rest)


def reach(
    index: Sequence[Expr], shape: Sequence[Expr], extents: Sequence[Expr]
) -> tuple[list[Expr], list[Expr]]:
    """Per dim the first place and the number of places that the index reaches; for a
    dim that it cannot leave, 0 and the dim's size.
    """
    bounds, zero, one = Bounds(extents), const(0, "int64"), const(1, "int64")
    starts: list[Expr] = []
    sizes: list[Expr] = []
    for i, n in zip(index, shape, strict=True):
        if bounds.is_inside(i, n):
            starts.append(zero)
            sizes.append(n)
            continue
        low = high = i
        for a in sorted(axes_of(i)):
            split = linear_in(i, a)
            assert split is not None
            last = split[0] * (extents[a] - 1)
            known = Bounds(()).is_nonnegative(split[0])
            down = zero if known else make("minimum", last, zero)
            up = last if known else make("maximum", last, zero)
            low = substitute(low, {axis(a): zero}) + down
            high = substitute(high, {axis(a): zero}) + up
        starts.append(simplify(low))
        sizes.append(make("maximum", simplify(high - low + one), zero))
    return starts, sizes
