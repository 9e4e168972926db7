"""Tables of values that depend only on a loop's indices.

A mask such as ``j <= i`` reads the indices of its point. Only the general nest provides
them, and it runs one point at a time; an operand with the values ``0, 1, 2, ...`` that
moves along one axis provides the same numbers to every affine form. A loop is rewritten
if that makes it affine. A loop over one axis keeps its index: its table would be as
long as its result.

In a loop that stays a general nest, divisions and conversions of one index, such as the
positions and weights of an interpolation, become a table too: they are computed once
per index instead of at every point. The last of the passes that rewrite loops.
"""

from __future__ import annotations

from collections.abc import Callable

from pellucid_compiler.ir.build import element, emit_loop, emit_map, over_values
from pellucid_compiler.ir.dtypes import is_float, stored_dtype
from pellucid_compiler.ir.expr import LOADS, Expr, axis, const, rebuild
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.primitives import LOOP, LoopAttrs, Store
from pellucid_compiler.ir.scalar_ops import COSTLY_OPS
from pellucid_compiler.ir.traversal import axes_of, bottom_up, substitute, walk
from pellucid_compiler.lower.contraction import match_contraction
from pellucid_compiler.lower.loops import is_affine, loop_shape


def tabulate_indices(graph: Graph) -> Graph:
    """``graph`` with tables of indices where they make a loop affine, and of costly
    values elsewhere.
    """
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    changed = False
    for node in graph.nodes:
        made = _tabulated(g, node, env) if _reads_indices(node) else None
        if made is None and _stays_nest(node):
            made = _without_costly(g, node, env)
        if made is None:
            g.copy_node(node, env)
        else:
            env[node.outputs[0]] = made
            changed = True
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune() if changed else graph


def _stays_nest(node: Node) -> bool:
    if node.primitive is not LOOP or len(node.attrs.extents) < 2:
        return False
    return not is_affine(node) and match_contraction(node) is None


def _without_costly(g: Graph, node: Node, env: dict[Value, Value]) -> Value | None:
    """The loop with costly parts of one index loaded from tables, or None."""
    attrs: LoopAttrs = node.attrs
    inputs = [env[value] for value in node.inputs]
    found: dict[Expr, Expr] = {}

    def moved(e: Expr) -> Expr:
        e = over_values(e, inputs)
        for part in _costly_parts(e):
            if part not in found:
                found[part] = _table(g, attrs, part)
        return substitute(e, found)

    stores = [
        s._replace(place=tuple(map(moved, s.place)), body=moved(s.body))
        for s in attrs.stores
    ]
    payload = None if attrs.payload is None else moved(attrs.payload)
    if not found:
        return None
    return emit_loop(
        g,
        attrs.extents,
        stores,
        attrs.combine,
        attrs.shape,
        payload,
        None if attrs.init is None else inputs[attrs.init],
        attrs.covered,
    )


def _table(g: Graph, attrs: LoopAttrs, part: Expr) -> Expr:
    """A load of the part's value from a table along the only axis that it reads."""
    (number,) = axes_of(part)
    here, extent = axis(number), attrs.extents[number]
    table = emit_map(g, [extent], lambda i: substitute(part, {here: i}))
    return element(table, [here])


def _costly_parts(root: Expr) -> list[Expr]:
    """The largest parts that read one index and no element, and are costly."""
    axes: dict[Expr, frozenset[int]] = {}
    loaded: set[Expr] = set()
    costly: set[Expr] = set()
    for e in walk(root):
        own = frozenset([e.attr] if e.op == "axis" else [])
        axes[e] = own.union(*(axes[a] for a in e.args))
        if e.op in LOADS or not loaded.isdisjoint(e.args):
            loaded.add(e)
        if (axes[e] and _is_costly(e)) or not costly.isdisjoint(e.args):
            costly.add(e)
    parts: dict[Expr, None] = {}
    seen: set[Expr] = set()
    left = [root]
    while left:
        e = left.pop()
        if e in seen or e not in costly:
            continue
        seen.add(e)
        alone = len(axes[e]) == 1 and e not in loaded
        if alone and stored_dtype(e.dtype) == e.dtype:
            parts[e] = None
        else:
            left += e.args
    return list(parts)


def _is_costly(e: Expr) -> bool:
    if e.op == "cast":
        return is_float(e.dtype) != is_float(e.args[0].dtype)
    return e.op in COSTLY_OPS


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

    def operands(e: Expr) -> tuple[Expr, ...]:
        return () if e.op in LOADS else e.args

    def replaced(e: Expr) -> Expr:
        if e.op in LOADS:
            return e
        if e.op == "axis":
            return index(e.attr)
        return rebuild(e, tuple([memo[a] for a in e.args]))

    return bottom_up(body, memo, operands, replaced)
