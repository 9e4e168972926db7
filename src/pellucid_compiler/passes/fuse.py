"""Fusion: maps, views and gathers are inlined into the loops that read them.

A load of an inlined value becomes its body, so the bits are those of the separate
loops: every rounding at a boundary is an explicit cast. Differentiate first, then fuse:
the derivative of a fused body may differ where a ``select`` hides an infinity. An
operand that a contraction reads repeatedly stays materialised, for all of its readers:
it is computed once, and the contraction stays a matrix product. So does a costly value,
such as a channel's ``1 / sqrt(variance)``, that a loop would recompute along an axis
other than its last; if it is constant only along the last axis, it is a number per row,
which rows of several passes compute once per row. A value that checks its elements is
inlined only where all of them are read. A value read at a loaded index is inlined only
where a load of its body checks that index. Bodies stay small: fusion_limits.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from pellucid_compiler.ir.affine import Bounds
from pellucid_compiler.ir.build import emit_loop, over_values
from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.expr import (
    LOADS,
    Expr,
    const,
    is_const,
    is_loaded,
    load_fill,
    load_index,
    select,
)
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.kinds import kind_of, stored_rank
from pellucid_compiler.ir.primitives import CALL, LOOP, LoopAttrs, Store
from pellucid_compiler.ir.scalar_ops import COSTLY_OPS
from pellucid_compiler.ir.traversal import (
    checked_loads,
    has_checks,
    loads,
    rewrite,
    substitute,
    uses_axis,
    walk,
)
from pellucid_compiler.passes.fusion_limits import values_to_store

INLINED = ("map", "view", "factory", "gather")


def _is_costly_op(e: Expr) -> bool:
    return e.op in COSTLY_OPS and is_float(e.dtype)


def inline_calls(graph: Graph) -> Graph:
    """Replace every ``call`` by its body, once its hand rule is no longer needed."""
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


def fuse(graph: Graph, reads_outputs: bool = False) -> Graph:
    """``graph`` with calls inlined and every one-element loop inlined into its readers;
    with ``reads_outputs`` these read it if it is a result.
    """
    graph = inline_calls(graph)
    fusion = _Fusion(graph)
    if reads_outputs:
        fusion.materialised.update(graph.outputs)
    for node in graph.nodes:
        if kind_of(node) == "contraction":
            fusion.materialise_factors(node)
        elif node.primitive is LOOP:
            fusion.materialise_repeated(node)
        fusion.materialise_checked(node)
        fusion.materialise_indexed(node)
    fused = fusion.run()
    return fuse(fused, reads_outputs) if fusion.found_one_hot else fused


def _without_one_hot(attrs: LoopAttrs) -> LoopAttrs:
    """The loop without a sum of ``value if axis == e else 0`` along that axis: all
    terms but one are zero.
    """
    body = attrs.stores[0].body
    if attrs.combine != "sum" or attrs.init is not None or len(attrs.stores) != 1:
        return attrs
    if body.op != "select" or body.args[0].op != "eq" or not is_const(body.args[2], 0):
        return attrs
    stored = {
        a
        for i in attrs.store.place
        for a in range(len(attrs.extents))
        if uses_axis(i, {a})
    }
    for along, chosen in (body.args[0].args, body.args[0].args[::-1]):
        if (
            along.op != "axis"
            or along.attr in stored
            or uses_axis(chosen, {along.attr})
        ):
            continue
        term = substitute(body.args[1], {along: chosen})
        held = (chosen >= 0) & (chosen < attrs.extents[along.attr])
        extents = list(attrs.extents)
        extents[along.attr] = const(1, "int64")
        store = attrs.store._replace(body=select(held, term, body.args[2]))
        return attrs._replace(extents=tuple(extents), stores=(store,))
    return attrs


class _Body(NamedTuple):
    """A loop's body over Values; the dim of each of its axes."""

    expr: Expr
    dim_of_axis: dict[int, int]


class _Fusion:
    """One Graph being fused. ``materialised``: values that readers load instead of
    recomputing.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.fused = Graph(f"{graph.name}.fused")
        self.fused.requirements = list(graph.requirements)
        self.env = {v: self.fused.input_like(v) for v in graph.inputs}
        self.materialised: set[Value] = set()
        self.costly: dict[Value, bool] = {}
        self.found_one_hot = False
        self.bodies = {
            node.outputs[0]: _body_of(node)
            for node in graph.nodes
            if node.primitive is LOOP and kind_of(node) in INLINED
        }
        self.materialised |= values_to_store(graph, self.bodies.keys())
        self.read = set(graph.outputs)
        for node in graph.nodes:
            self.read.update(_read_whole(node))

    def run(self) -> Graph:
        for node in self.graph.nodes:
            if node.primitive is LOOP:
                if not self._is_inlined_everywhere(node.outputs[0]):
                    self._emit(node)
            else:
                self.fused.copy_node(node, self.env)
        self.fused.outputs = [self.env[v] for v in self.graph.outputs]
        return self.fused.prune()

    def _is_inlined_everywhere(self, value: Value) -> bool:
        return not (
            value in self.read or value in self.materialised or value not in self.bodies
        )

    def materialise_factors(self, node: Node) -> None:
        """Materialise what the contraction reads for several elements of its result."""
        attrs: LoopAttrs = node.attrs
        axes = range(stored_rank(attrs))

        def note(value: Value, index: tuple[Expr, ...]) -> None:
            again = not all(any(uses_axis(i, {a}) for i in index) for a in axes)
            if again and not _is_moved(self.bodies[value].expr):
                self.materialised.add(value)

        _Inlining(self, attrs, note).expand(over_values(attrs.store.body, node.inputs))

    def materialise_repeated(self, node: Node) -> None:
        """Materialise costly values that are constant along an axis other than the
        last.
        """
        attrs: LoopAttrs = node.attrs
        if len(attrs.stores) != 1:
            return
        axes = range(len(attrs.extents))

        def note(value: Value, index: tuple[Expr, ...]) -> None:
            used = {a for a in axes if any(uses_axis(i, {a}) for i in index)}
            repeats = not used.issuperset(axes[:-1])
            if value.rank and repeats and self._is_costly(value):
                self.materialised.add(value)

        body = over_values(attrs.store.body, node.inputs)
        if stored_rank(attrs) < len(attrs.extents):  # its terms are inlined into it
            _Inlining(self, attrs, note).expand(body)
            return
        for e in loads(body):
            if e.attr in self.bodies:
                note(e.attr, load_index(e))

    def materialise_checked(self, node: Node) -> None:
        """Materialise values with checks of elements that the loop may not read."""
        if node.primitive is not LOOP:
            return
        attrs: LoopAttrs = node.attrs
        for body in _exprs(attrs):
            read = checked_loads(body)
            for e in loads(body):
                made = self.bodies.get(node.inputs[e.attr])
                if made is None or not has_checks(made.expr):
                    continue
                if e not in read or not _reads_whole(e, node, attrs):
                    self.materialised.add(node.inputs[e.attr])

    def materialise_indexed(self, node: Node) -> None:
        """Materialise values read at a loaded index that no load of theirs checks."""
        if node.primitive is not LOOP:
            return
        for body in _exprs(node.attrs):
            for e in loads(body):
                value = node.inputs[e.attr]
                if e.op != "load" or value not in self.bodies:
                    continue
                places = (d for d, i in enumerate(load_index(e)) if is_loaded(i))
                if any(d not in self.checked_dims[value] for d in places):
                    self.materialised.add(value)

    @cached_property
    def checked_dims(self) -> dict[Value, set[int]]:
        """The dims of each inlined value in which every element of it is loaded from an
        operand at the same coordinate of a dim of the same extent.
        """
        found: dict[Value, set[int]] = {}
        for value, (expr, dim_of_axis) in self.bodies.items():  # operands come first
            found[value] = {
                dim
                for e in checked_loads(expr)
                for d, i in enumerate(load_index(e))
                if i.op == "axis"
                and (dim := dim_of_axis.get(i.attr)) is not None
                and e.attr.shape[d] is value.shape[dim]
                and (e.attr not in found or d in found[e.attr])
            }
        return found

    def _is_costly(self, value: Value) -> bool:
        """Whether an element takes more than a few additions and products of floats:
        integers are sizes and indices, divided by constants.
        """
        if value not in self.costly:
            body = self.bodies[value].expr
            self.costly[value] = any(_is_costly_op(e) for e in walk(body)) or any(
                self._is_costly(e.attr)
                for e in loads(body)
                if e.attr in self.bodies and e.attr not in self.materialised
            )
        return self.costly[value]

    def _emit(self, node: Node) -> None:
        attrs: LoopAttrs = node.attrs
        inlining = _Inlining(self, attrs, lambda value, index: None)

        def moved(e: Expr) -> Expr:
            return over_values(inlining.expand(over_values(e, node.inputs)), self.env)

        stores = [
            Store(tuple(map(moved, s.place)), moved(s.body), s.drop)
            for s in attrs.stores
        ]
        full = attrs._replace(stores=tuple(stores))
        plain = _without_one_hot(full)
        self.found_one_hot |= plain is not full
        self.env[node.outputs[0]] = emit_loop(
            self.fused,
            plain.extents,
            plain.stores,
            attrs.combine,
            attrs.shape,
            None if attrs.payload is None else moved(attrs.payload),
            None if attrs.init is None else self.env[node.inputs[attrs.init]],
            attrs.covered,
        )


def _exprs(attrs: LoopAttrs) -> list[Expr]:
    """All expressions that a loop evaluates."""
    found = [e for store in attrs.stores for e in (*store.place, store.body)]
    return found if attrs.payload is None else [*found, attrs.payload]


def _reads_whole(e: Expr, node: Node, attrs: LoopAttrs) -> bool:
    """Whether the points of a loop read every element of the operand of a load."""
    used: set[int] = set()
    for i, n in zip(load_index(e), node.inputs[e.attr].shape, strict=True):
        if is_const(i, 0) and is_const(n, 1):
            continue
        if i.op != "axis" or i.attr in used or attrs.extents[i.attr] is not n:
            return False
        used.add(i.attr)
    return True


def _read_whole(node: Node) -> list[Value]:
    """The values that a node reads as whole tensors, not element by element."""
    if node.primitive is not LOOP:
        return list(node.inputs)
    init = node.attrs.init
    return [] if init is None else [node.inputs[init]]


def _body_of(node: Node) -> _Body:
    attrs: LoopAttrs = node.attrs
    dims = {i.attr: d for d, i in enumerate(attrs.store.place) if i.op == "axis"}
    return _Body(over_values(attrs.store.body, node.inputs), dims)


class _Inlining:
    """Recursive replacement of loads by bodies, in one loop."""

    def __init__(
        self,
        fusion: _Fusion,
        attrs: LoopAttrs,
        visit: Callable[[Value, tuple[Expr, ...]], None],
    ) -> None:
        self.fusion, self.visit = fusion, visit
        self.bounds = Bounds(attrs.extents)
        self.memo: dict[Expr, Expr] = {}

    def expand(self, e: Expr) -> Expr:
        return rewrite(e, self._leaf, self.memo)

    def _leaf(self, e: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if e.op not in LOADS or e.attr not in self.fusion.bodies:
            return None
        index = args[:-1] if e.op == "padded_load" else args
        self.visit(e.attr, index)
        if e.attr in self.fusion.materialised:
            return None
        body = self.fusion.bodies[e.attr]
        return self.expand(_inlined(e, args, body, self.bounds))


def _is_moved(body: Expr) -> bool:
    """Whether a body only moves elements."""
    if body.op == "cast":
        body = body.args[0]
    return body.op in LOADS or not loads(body)


def _inlined(e: Expr, args: tuple[Expr, ...], made: _Body, bounds: Bounds) -> Expr:
    """The body in place of the load; guarded if a padded load may be out of bounds."""
    place = args[:-1] if e.op == "padded_load" else args
    inner = rewrite(
        made.expr,
        lambda m, _: place[made.dim_of_axis[m.attr]] if m.op == "axis" else None,
    )
    fill = load_fill(e)
    if fill is None:
        return inner
    inside: Expr = const(True)
    for i, n in zip(place, e.attr.shape, strict=True):
        if not bounds.is_nonnegative(i):
            inside = inside & (i >= 0)
        if not bounds.is_less(i, n):
            inside = inside & (i < n)
    return select(inside, inner, args[-1])
