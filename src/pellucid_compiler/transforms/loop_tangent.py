"""The tangent of a loop: slopes of its bodies times tangents of their loads.

Sums and assignments are linear in their bodies; an extremum divides its tangent among
tied elements; a product multiplies each factor's tangent by the other factors. Called
only by jvp.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.ir.affine import Bounds
from pellucid_compiler.ir.build import (
    element,
    emit_loop,
    emit_map,
    emit_sum,
    padded_element,
    stores_over,
    zeros_like,
)
from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.expr import Expr, cast, const, load_index, make, select
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.kinds import has_plain_store, stored_rank
from pellucid_compiler.ir.partials import Slopes, partials, times
from pellucid_compiler.ir.primitives import LoopAttrs, Store
from pellucid_compiler.ir.traversal import checked_loads, substitute, walk


class LoopTangent:
    """The tangent of one loop: the slopes of its bodies times the tangents of its
    loads.
    """

    def __init__(
        self,
        g: Graph,
        node: Node,
        inputs: list[Value],
        output: Value,
        tangents: Sequence[Value | None],
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
        """The tangent of one store's body, reading the output in place of the body."""
        total: Expr = const(0.0)
        checked = checked_loads(store.body)
        for (leaf, conjugated), slope in slopes.items():
            place = load_index(leaf)
            value = self.moving[leaf.attr]
            inside = leaf in checked or all(
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
        """Elements that tie for the extremum share its tangent evenly. None equals an
        extremum that is NaN, and the tangents of all of them become NaN.
        """
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
            _share(hit, _stored(count, s), self._body(s, d))
            for hit, s, d in zip(hits, stores, slopes, strict=True)
        ]
        tangent = self._emit(stores, bodies, None, "sum")
        if init is None or self.init is None:
            return tangent
        initial, moved, shares = self.init, init, count
        share = emit_map(
            self.g,
            y.shape,
            lambda *p: _share(
                element(initial, p) == element(y, p),
                element(shares, p),
                element(moved, p),
            ),
        )
        return emit_sum(self.g, tangent, share)

    def _of_product(
        self, stores: list[Store], slopes: list[Slopes], init: Value | None
    ) -> Value | None:
        """Each factor's tangent times the product of the others.

        Dividing the product by the factor fails if a factor is zero: the product of the
        nonzero factors and the number of zeros determine the product of the others.
        """
        y, initial = self.output, self.init
        one, zero = const(1, y.dtype), const(0, y.dtype)
        others = [select(s.body == 0, one, s.body) for s in stores]
        zeros = [cast(s.body == 0, y.dtype) for s in stores]
        start_other = start_zero = None
        if initial is not None:
            start_other = emit_map(
                self.g,
                y.shape,
                lambda *p: select(element(initial, p) == 0, one, element(initial, p)),
            )
            start_zero = emit_map(
                self.g, y.shape, lambda *p: cast(element(initial, p) == 0, y.dtype)
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
        if init is None or initial is None:
            return tangent
        moved = init
        share = emit_map(
            self.g,
            y.shape,
            lambda *p: (
                element(moved, p)
                * without(element(initial, p), element(rest, p), element(count, p))
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


def _share(hit: Expr, count: Expr, tangent: Expr) -> Expr:
    """What an element adds to the tangent of an extremum that ``count`` equal."""
    none = select(count == 0, const(float("nan"), tangent.dtype), const(0.0))
    return select(hit, tangent / count, times(none, tangent))


def _stored(value: Value, store: Store) -> Expr:
    """The element that a store writes; a dropped store reads a zero."""
    if store.drop:
        return padded_element(value, store.place, 0)
    return element(value, store.place)
