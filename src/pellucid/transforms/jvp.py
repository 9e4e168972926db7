"""Linearisation: the Graph of the tangents, node by node.

``jvp(graph, wrt)`` maps (inputs, tangents of ``wrt``) to tangents of the differentiable
outputs. A rule gets the node's inputs and outputs in the new Graph and may read either;
a tangent that would contain the forward body reads the output instead, which decides
what a derivative saves. Read next: transpose.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from pellucid.ir.affine import Bounds
from pellucid.ir.build import (
    element,
    emit_loop,
    emit_map,
    emit_reshape,
    emit_sum,
    padded_element,
    stores_over,
    zeros_like,
)
from pellucid.ir.dtypes import is_float
from pellucid.ir.expr import (
    Expr,
    cast,
    const,
    load_index,
    make,
    select,
    substitute,
    walk,
)
from pellucid.ir.graph import Graph, Node, Value
from pellucid.ir.kinds import has_plain_store, stored_rank
from pellucid.ir.partials import Slopes, partials, times
from pellucid.ir.primitives import (
    LIBRARY,
    SCAN,
    CallAttrs,
    LoopAttrs,
    ReshapeAttrs,
    ScanAttrs,
    Store,
)

Tangents: TypeAlias = "Sequence[Value | None]"
JvpRule: TypeAlias = (
    "Callable[[Graph, Node, list[Value], Sequence[Value], Tangents], Tangents]"
)


def jvp(
    graph: Graph,
    wrt: Sequence[int],
    primal: bool = False,
    given_outputs: bool = False,
) -> Graph:
    """(inputs, tangents of ``wrt``) -> tangents of the differentiable outputs.

    With ``primal`` the outputs themselves come first. With ``given_outputs`` the
    outputs are inputs too, between the inputs and the tangents, and are read instead of
    recomputed.
    """
    g = Graph(f"{graph.name}.jvp")
    env = {value: g.input_like(value) for value in graph.inputs}
    given = _given_outputs(g, graph) if given_outputs else {}
    tangent = {
        graph.inputs[k]: g.input(
            graph.inputs[k].shape, graph.inputs[k].dtype, _named("d", graph.inputs[k])
        )
        for k in wrt
    }
    for node in graph.nodes:
        g.copy_node(node, env)
        env.update((v, given[v]) for v in node.outputs if v in given)
        outputs = [env[v] for v in node.outputs]
        moving = [tangent.get(value) for value in node.inputs]
        if all(t is None for t in moving):
            continue
        inputs = [env[value] for value in node.inputs]
        rule = _RULES[node.primitive.name]
        for value, new in zip(
            node.outputs, rule(g, node, inputs, outputs, moving), strict=True
        ):
            if new is not None:
                assert new.dtype == value.dtype, (graph.name, new, value)
                tangent[value] = new
    results = [
        tangent[value] if value in tangent else zeros_like(g, env[value])
        for value in graph.outputs
        if value.differentiable
    ]
    g.outputs = ([env[value] for value in graph.outputs] if primal else []) + results
    return g.prune()


def _given_outputs(g: Graph, graph: Graph) -> dict[Value, Value]:
    return {
        value: g.input(value.shape, value.dtype, "result" if k == 0 else f"result_{k}")
        for k, value in enumerate(graph.outputs)
    }


def _named(prefix: str, value: Value) -> str | None:
    return f"{prefix}_{value.name}" if value.name else None


# ------------------------------------------------------------------ loop


def _loop(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    attrs: LoopAttrs = node.attrs
    if not outputs[0].differentiable or attrs.combine in ("argmax", "argmin"):
        return [None]
    return [_LoopTangent(g, node, inputs, outputs[0], tangents).tangent()]


class _LoopTangent:
    """The tangent of one loop: the slopes of its bodies times the tangents of its
    loads.
    """

    def __init__(
        self,
        g: Graph,
        node: Node,
        inputs: list[Value],
        output: Value,
        tangents: Tangents,
    ) -> None:
        self.g = g
        self.attrs: LoopAttrs = node.attrs
        self.node, self.inputs, self.output = node, inputs, output
        self.moving = {
            value: t for value, t in zip(inputs, tangents, strict=True) if t is not None
        }
        self.bounds = Bounds(self.attrs.extents)
        self.init = None if self.attrs.init is None else inputs[self.attrs.init]

    def tangent(self) -> Value | None:
        stores = stores_over(self.node, self.inputs)
        slopes = [partials(s.body, lambda e: e.attr in self.moving) for s in stores]
        init = None if self.init is None else self.moving.get(self.init)
        if not any(slopes) and init is None:
            return None
        if self.attrs.combine in ("max", "min"):
            return self._of_extremum(stores, slopes, init)
        if self.attrs.combine == "prod":
            return self._of_product(stores, slopes, init)
        bodies = [self._body(s, d) for s, d in zip(stores, slopes, strict=True)]
        if self.attrs.combine == "sum" and not any(slopes):
            return init
        if self.attrs.combine == "assign" and self.init is not None and init is None:
            init = zeros_like(self.g, self.init)
        return self._emit(stores, bodies, init)

    def _body(self, store: Store, slopes: Slopes) -> Expr:
        """The tangent of one store's body, reading the output where it contains the
        body.
        """
        total: Expr = const(0.0)
        for (leaf, conjugated), slope in slopes.items():
            place = load_index(leaf)
            value = self.moving[leaf.attr]
            inside = all(
                self.bounds.is_inside(i, n)
                for i, n in zip(place, value.shape, strict=True)
            )
            d = element(value, place) if inside else padded_element(value, place, 0)
            term = make("conj", d) if conjugated else d
            total = total + times(slope, term)
        total = cast(total, self.output.dtype)
        return self._reading_output(store, total)

    def _reading_output(self, store: Store, tangent: Expr) -> Expr:
        body = store.body
        attrs = self.attrs
        one_each = has_plain_store(attrs) and len(attrs.extents) == stored_rank(attrs)
        if not one_each or body.op in ("load", "padded_load", "const", "select"):
            return tangent
        out = element(self.output, store.place)
        found = set(walk(tangent))
        if body in found:
            return substitute(tangent, {body: out})
        inner = body.args[0] if body.op == "cast" else body
        if inner in found and is_float(inner.dtype) and inner.op != "load":
            return substitute(tangent, {inner: cast(out, inner.dtype)})
        return tangent

    def _of_extremum(
        self, stores: list[Store], slopes: list[Slopes], init: Value | None
    ) -> Value | None:
        """Elements that tie for the extremum share its tangent evenly."""
        y = self.output
        hits = [s.body == _stored(y, s) for s in stores]
        ones = [cast(hit, y.dtype) for hit in hits]
        count: Value | None = self._emit(stores, ones, None, "sum")
        if self.init is not None:
            first = self.init
            tie = emit_map(
                self.g,
                y.shape,
                lambda *p: cast(element(first, p) == element(y, p), y.dtype),
            )
            count = emit_sum(self.g, count, tie)
        assert count is not None
        bodies = [
            select(hit, self._body(s, d) / _stored(count, s), cast(0, y.dtype))
            for hit, s, d in zip(hits, stores, slopes, strict=True)
        ]
        tangent = self._emit(stores, bodies, None, "sum")
        if init is None or self.init is None:
            return tangent
        kept, moved, shares = self.init, init, count
        share = emit_map(
            self.g,
            y.shape,
            lambda *p: select(
                element(kept, p) == element(y, p),
                element(moved, p) / element(shares, p),
                cast(0, y.dtype),
            ),
        )
        return emit_sum(self.g, tangent, share)

    def _of_product(
        self, stores: list[Store], slopes: list[Slopes], init: Value | None
    ) -> Value | None:
        """Each factor's tangent times the product of the others.

        A quotient by the factor will not do where a factor is zero: the product of the
        factors that are not, and the number of zeros, say what the others multiply to.
        """
        y, kept = self.output, self.init
        one, zero = const(1, y.dtype), const(0, y.dtype)
        others = [select(s.body == 0, one, s.body) for s in stores]
        zeros = [cast(s.body == 0, y.dtype) for s in stores]
        start_other = start_zero = None
        if kept is not None:
            start_other = emit_map(
                self.g,
                y.shape,
                lambda *p: select(element(kept, p) == 0, one, element(kept, p)),
            )
            start_zero = emit_map(
                self.g, y.shape, lambda *p: cast(element(kept, p) == 0, y.dtype)
            )
        rest = self._emit(stores, others, start_other, "prod")
        count = self._emit(stores, zeros, start_zero, "sum")

        def without(factor: Expr, whole: Expr, number: Expr) -> Expr:
            alone = select(number == 1, whole, zero)
            return select(factor == 0, alone, select(number == 0, whole / factor, zero))

        bodies = [
            self._body(s, d) * without(s.body, _stored(rest, s), _stored(count, s))
            for s, d in zip(stores, slopes, strict=True)
        ]
        tangent = self._emit(stores, bodies, None, "sum") if any(slopes) else None
        if init is None or kept is None:
            return tangent
        moved = init
        share = emit_map(
            self.g,
            y.shape,
            lambda *p: (
                element(moved, p)
                * without(element(kept, p), element(rest, p), element(count, p))
            ),
        )
        return emit_sum(self.g, tangent, share)

    def _emit(
        self,
        stores: list[Store],
        bodies: list[Expr],
        init: Value | None,
        combine: str | None = None,
    ) -> Value:
        return emit_loop(
            self.g,
            self.attrs.extents,
            [Store(s.place, b, s.drop) for s, b in zip(stores, bodies, strict=True)],
            combine or self.attrs.combine,
            self.attrs.shape,
            init=init,
            covered=self.attrs.covered and combine is None,
        )


def _stored(value: Value, store: Store) -> Expr:
    """The element that a store writes; a dropped store reads a zero."""
    if store.drop:
        return padded_element(value, store.place, 0)
    return element(value, store.place)


# ------------------------------------------------------------------ the other primitive


def _reshape(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    attrs: ReshapeAttrs = node.attrs
    (t,) = tangents
    return [None if t is None else emit_reshape(g, t, attrs.shape)]


def _scan(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    """A scan over the tangents of the carries, given the carry each step received."""
    attrs: ScanAttrs = node.attrs
    k, n = len(outputs), len(inputs)
    wrt = [*range(k), *(p for p in range(k, n) if tangents[p] is not None)]
    step = jvp(attrs.step, wrt)
    # (carries, xs, carry tangents, x tangents) -> carry tangents first, as a scan wants
    step.inputs = step.inputs[n : n + k] + step.inputs[:n] + step.inputs[n + k :]
    before = [
        carry_before(g, i, o, attrs) for i, o in zip(inputs[:k], outputs, strict=True)
    ]
    start = [
        zeros_like(g, i) if t is None else t
        for i, t in zip(inputs[:k], tangents[:k], strict=True)
    ]
    moving = [t for t in tangents[k:] if t is not None]
    return list(
        g.emit(
            SCAN,
            [*start, *before, *inputs[k:], *moving],
            ScanAttrs(step, attrs.length, attrs.reverse),
        )
    )


def carry_before(
    g: Graph, first: Value | None, stack: Value, attrs: ScanAttrs
) -> Value:
    """The carry that each step received; zero before the first step without
    ``first``.
    """
    edge = attrs.length - 1 if attrs.reverse else const(0, "int64")
    back = 1 if attrs.reverse else -1

    def body(t: Expr, *p: Expr) -> Expr:
        start = cast(0, stack.dtype) if first is None else element(first, p)
        return select(t == edge, start, element(stack, [t + back, *p]))

    return emit_map(g, stack.shape, body)


def _library(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    if not any(o.differentiable for o in outputs):
        return [None] * len(outputs)
    full = [
        zeros_like(g, i) if t is None and i.differentiable else t
        for i, t in zip(inputs, tangents, strict=True)
    ]
    return LIBRARY.jvp(g, node, inputs, outputs, full)


def _nonzero(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    return [None]


def _call(
    g: Graph,
    node: Node,
    inputs: list[Value],
    outputs: Sequence[Value],
    tangents: Tangents,
) -> Tangents:
    """The hand VJP, which is linear in its cotangents, transposed."""
    from pellucid.transforms.transpose import transpose

    attrs: CallAttrs = node.attrs
    n = len(inputs) + len(outputs)
    forward = transpose(attrs.vjp, list(range(n, len(attrs.vjp.inputs))))
    full = []
    for p in attrs.wrt:
        t = tangents[p]
        full.append(zeros_like(g, inputs[p]) if t is None else t)
    moved = iter(g.inline(forward, [*inputs, *outputs, *full]))
    return [next(moved) if o.differentiable else None for o in outputs]


_RULES: Final[dict[str, JvpRule]] = {
    "loop": _loop,
    "reshape": _reshape,
    "scan": _scan,
    "library": _library,
    "nonzero": _nonzero,
    "call": _call,
}
