"""Complex loops converted to real arithmetic; complex numbers are only moved.

A loop that computes each element independently keeps its complex operands and result;
its body splits and combines the parts. A sum becomes one sum of real parts and one of
imaginary parts, and a sum of products four real contractions, so that reductions,
scatters and matrix products have no complex form of their own. Differentiate first:
derivatives are taken of the complex loops. A pass of lower/pipelines.py. Read next:
ir/complex_parts.py.
"""

from __future__ import annotations

import functools
import operator

from pellucid_compiler.ir.build import (
    element,
    emit_filled,
    emit_loop,
    emit_map,
    emit_reshape,
    emit_scan,
    over_values,
)
from pellucid_compiler.ir.complex_parts import ComplexParts
from pellucid_compiler.ir.dtypes import is_complex
from pellucid_compiler.ir.expr import LOADS, Expr, axis, const, make, select
from pellucid_compiler.ir.graph import Graph, Node, Value
from pellucid_compiler.ir.kinds import has_plain_store, kind_of, stored_rank
from pellucid_compiler.ir.primitives import LOOP, SCAN, LoopAttrs, ScanAttrs, Store
from pellucid_compiler.ir.traversal import substitute


def split_complex(graph: Graph) -> Graph:
    """``graph`` computing with real numbers; its inputs and outputs stay complex."""
    if not _mentions_complex(graph):
        return graph
    g = Graph(graph.name)
    g.requirements = list(graph.requirements)
    env = {v: g.input_like(v) for v in graph.inputs}
    for node in graph.nodes:
        if node.primitive is LOOP and _is_complex(node):
            env[node.outputs[0]] = _ComplexLoop(g, node, env).emit()
        elif node.primitive is SCAN:
            inputs = [env[v] for v in node.inputs]
            step = node.attrs._replace(step=split_complex(node.attrs.step))
            env.update(zip(node.outputs, g.emit(SCAN, inputs, step), strict=True))
        else:
            g.copy_node(node, env)
    g.outputs = [env[v] for v in graph.outputs]
    return g.prune()


def _mentions_complex(graph: Graph) -> bool:
    values = [*graph.inputs, *(v for node in graph.nodes for v in node.outputs)]
    return any(is_complex(v.dtype) for v in values)


def _is_complex(node: Node) -> bool:
    return any(is_complex(v.dtype) for v in (*node.inputs, *node.outputs))


class _ComplexLoop:
    """One loop over complex numbers being converted to real ones."""

    def __init__(self, g: Graph, node: Node, env: dict[Value, Value]) -> None:
        self.g, self.node = g, node
        self.attrs: LoopAttrs = node.attrs
        self.inputs = [env[v] for v in node.inputs]
        self.parts = ComplexParts()
        self.init = None if self.attrs.init is None else self.inputs[self.attrs.init]

    def emit(self) -> Value:
        attrs = self.attrs
        alone = has_plain_store(attrs) and len(attrs.extents) == stored_rank(attrs)
        if attrs.combine == "assign" or alone or not self._combines_complex():
            bodies = [self.parts.expand(self._over(s.body)) for s in attrs.stores]
            payload = attrs.payload
            moved = None if payload is None else self.parts.expand(self._over(payload))
            return self._loop(bodies, self.init, moved)
        if attrs.combine == "prod" and has_plain_store(attrs):
            return self._product()
        if attrs.combine != "sum":
            raise NotImplementedError(
                f"the {attrs.combine} of complex numbers is not implemented: they have "
                "no order, and products are not stored at computed places"
            )
        bodies = [self._over(s.body) for s in attrs.stores]
        if kind_of(self.node) == "contraction":
            return self._joined(*(self._products(bodies[0], k) for k in range(2)))
        return self._joined(*(self._sum(bodies, k) for k in range(2)))

    def _combines_complex(self) -> bool:
        return any(is_complex(s.body.dtype) for s in self.attrs.stores)

    def _over(self, e: Expr) -> Expr:
        return over_values(e, self.inputs)

    def _loop(
        self, bodies: list[Expr], init: Value | None, payload: Expr | None = None
    ) -> Value:
        attrs = self.attrs
        stores = [
            Store(
                tuple(self.parts.expand(self._over(i)) for i in s.place), body, s.drop
            )
            for s, body in zip(attrs.stores, bodies, strict=True)
        ]
        return emit_loop(
            self.g, attrs.extents, stores, attrs.combine, attrs.shape, payload, init,
            attrs.covered,
        )  # fmt: skip

    def _sum(self, bodies: list[Expr], part: int) -> Value:
        init = None if self.init is None else self._part_of(self.init, part)
        return self._loop([self.parts.parts(body)[part] for body in bodies], init)

    def _part_of(self, value: Value, part: int) -> Value:
        name = ("real", "imag")[part]
        return emit_map(self.g, value.shape, lambda *p: make(name, element(value, p)))

    def _product(self) -> Value:
        """The last of the running products of the factors."""
        attrs, rank = self.attrs, stored_rank(self.attrs)
        stored, reduced = attrs.extents[:rank], attrs.extents[rank:]
        moved = {axis(k): axis(k + len(reduced)) for k in range(rank)}
        moved |= {axis(rank + k): axis(k) for k in range(len(reduced))}
        body = self.parts.expand(substitute(self._over(attrs.store.body), moved))
        factors = emit_map(self.g, (*reduced, *stored), lambda *p: body)
        count = functools.reduce(operator.mul, reduced, const(1, "int64"))
        flat = emit_reshape(self.g, factors, [count, *stored])
        running = self._running_products(flat)
        dims = [
            d
            for k in range(rank)
            for d, i in enumerate(attrs.store.place)
            if i is axis(k)
        ]

        def last(*place: Expr) -> Expr:
            found = element(running, [count - 1, *(place[d] for d in dims)])
            return select(count > 0, found, const(1 + 0j, flat.dtype))

        return emit_map(self.g, attrs.shape, last)

    def _running_products(self, factors: Value) -> Value:
        """Running products along the first dim."""
        length, *shape = factors.shape
        step = Graph("step")
        before, factor = (step.input(shape, factors.dtype) for _ in range(2))
        step.outputs = [
            emit_map(step, shape, lambda *p: element(before, p) * element(factor, p))
        ]
        one = emit_filled(self.g, shape, 1, factors.dtype)
        attrs = ScanAttrs(split_complex(step), length, False, 1)
        return emit_scan(self.g, attrs.step, [one], [factors], [], attrs)[0]

    def _products(self, body: Expr, part: int) -> Value:
        """A sum of products of parts, which are separate matrices."""
        pieces = [
            (self._loop([self._of_parts(term)], None), is_negative)
            for term, is_negative in _terms(self.parts.parts(body)[part])
        ]

        def combined(*place: Expr) -> Expr:
            first, *rest = (
                -element(v, place) if is_negative else element(v, place)
                for v, is_negative in pieces
            )
            return functools.reduce(operator.add, rest, first)

        return emit_map(self.g, self.attrs.shape, combined)

    def _of_parts(self, e: Expr) -> Expr:
        """``e`` with loads from tensors of parts in place of parts of loads."""
        if e.op in ("real", "imag") and e.args[0].op in LOADS:
            load = e.args[0]
            value = self._part_of(load.attr, e.op == "imag")
            return element(value, load.args) if load.op == "load" else e
        if not e.args or e.op in LOADS:
            return e
        return make(e.op, *map(self._of_parts, e.args)) if e.op == "mul" else e

    def _joined(self, real: Value, imag: Value) -> Value:
        return emit_map(
            self.g,
            self.attrs.shape,
            lambda *p: make("complex", element(real, p), element(imag, p)),
        )


def _terms(e: Expr, is_negative: bool = False) -> list[tuple[Expr, bool]]:
    """The terms of ``e``, each with a flag: whether it is subtracted."""
    if e.op in ("add", "sub"):
        first, second = e.args
        return [
            *_terms(first, is_negative),
            *_terms(second, is_negative != (e.op == "sub")),
        ]
    if e.op == "neg":
        return _terms(e.args[0], not is_negative)
    if e.op == "mul" and any(a.op == "neg" for a in e.args):
        bare = [a.args[0] if a.op == "neg" else a for a in e.args]
        flips = sum(a.op == "neg" for a in e.args) == 1
        return [(make("mul", *bare), is_negative != flips)]
    return [(e, is_negative)]
