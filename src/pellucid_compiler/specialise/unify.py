"""Replaces sizes that a Graph requires to be equal by one symbol or number.

``matmul`` requires equal inner sizes; with one symbol for both, loops over one are
provably in bounds of the other, in the Graph and in its derivatives. A size that a
guard found to be 1 is 1: its axis disappears. The requirements keep their own symbols,
because they justify the replacement. Called by graphs.py after tracing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pellucid_compiler.ir.build import emit_loop, over_values
from pellucid_compiler.ir.expr import Expr, is_const
from pellucid_compiler.ir.graph import Graph, Value
from pellucid_compiler.ir.primitives import (
    CALL,
    CallAttrs,
    LibraryAttrs,
    LoopAttrs,
    ReshapeAttrs,
    ScanAttrs,
    Store,
)
from pellucid_compiler.ir.traversal import rewrite

Replacement: TypeAlias = "Callable[[Expr], Expr | None]"


def unify_sizes(graph: Graph, traced: Graph, guards: Mapping[Expr, bool]) -> Graph:
    """``graph`` with one symbol for sizes that are always equal, according to the
    requirements of its trace, the Graph ``traced``, and to the guards.
    """
    sizes = traced.sizes.copy()
    for body in _bodies(traced):
        sizes.merge(body.sizes)
    for condition, answer in guards.items():  # guards of nested traces hold for all
        if answer:
            sizes.add(condition)
    renamed = sizes.renamed()
    return _Renaming(renamed.get).graph(graph) if renamed else graph


def renamed_graph(graph: Graph, names: Mapping[str, Expr]) -> Graph:
    """``graph`` with the symbols of ``names`` replaced, without its requirements."""
    return _Renaming(_by_name(names), keeps_required=False).graph(graph)


def renamed_expr(e: Expr, names: Mapping[str, Expr]) -> Expr:
    """``e`` with the symbols of ``names`` replaced."""
    return _Renaming(_by_name(names)).expr(e)


def renamed_attrs(attrs: Any, renamed: Replacement) -> Any:
    """A node's attributes with the symbols that ``renamed`` knows replaced."""
    return _Renaming(renamed).attrs(attrs)


def _by_name(names: Mapping[str, Expr]) -> Replacement:
    return lambda e: names.get(e.attr) if e.op == "sym" else None


def _bodies(graph: Graph) -> Iterator[Graph]:
    """The Graphs of its calls, which name the same sizes."""
    for node in graph.nodes:
        if node.primitive is CALL:
            yield node.attrs.body
            yield from _bodies(node.attrs.body)


class _Renaming:
    """Rewrites every expression of a Graph and of the Graphs nested in it."""

    def __init__(self, renamed: Replacement, keeps_required: bool = True) -> None:
        self.renamed, self.keeps_required = renamed, keeps_required
        self.memo: dict[Expr, Expr] = {}

    def expr(self, e: Expr) -> Expr:
        return rewrite(e, lambda node, _: self.renamed(node), self.memo)

    def exprs(self, found: Iterable[Expr]) -> tuple[Expr, ...]:
        return tuple(map(self.expr, found))

    def graph(self, old: Graph) -> Graph:
        new = Graph(old.name)
        new.requirements = list(old.requirements) if self.keeps_required else []
        env: dict[Value, Value] = {}
        for value in old.inputs:
            env[value] = new.input(self.exprs(value.shape), value.dtype, value.name)
        for node in old.nodes:
            inputs = [env[value] for value in node.inputs]
            attrs = self.attrs(node.attrs)
            if isinstance(attrs, LoopAttrs) and any(
                is_const(n, 1) for n in attrs.extents
            ):
                env[node.outputs[0]] = _without_ones(new, inputs, attrs)
                continue
            outputs = new.emit(node.primitive, inputs, attrs)
            env.update(zip(node.outputs, outputs, strict=True))
        new.outputs = [env[value] for value in old.outputs]
        new.saved = [env[value] for value in old.saved]
        return new

    def attrs(self, old: Any) -> Any:
        if isinstance(old, LoopAttrs):
            return old._replace(
                extents=self.exprs(old.extents),
                stores=tuple(
                    Store(self.exprs(s.place), self.expr(s.body), s.drop)
                    for s in old.stores
                ),
                shape=self.exprs(old.shape),
                payload=None if old.payload is None else self.expr(old.payload),
            )
        if isinstance(old, ReshapeAttrs):
            return ReshapeAttrs(self.exprs(old.shape))
        if isinstance(old, ScanAttrs):
            return old._replace(step=self.graph(old.step), length=self.expr(old.length))
        if isinstance(old, CallAttrs):
            return old._replace(body=self.graph(old.body), vjp=self.graph(old.vjp))
        if isinstance(old, LibraryAttrs):
            options = [
                (name, self.expr(value) if isinstance(value, Expr) else value)
                for name, value in old.options
            ]
            return old._replace(options=tuple(options))
        return old


def _without_ones(graph: Graph, inputs: Sequence[Value], attrs: LoopAttrs) -> Value:
    """The loop in canonical form, which has no axes of size 1."""
    stores = [
        Store(
            tuple(over_values(i, inputs) for i in s.place),
            over_values(s.body, inputs),
            s.drop,
        )
        for s in attrs.stores
    ]
    return emit_loop(
        graph,
        attrs.extents,
        stores,
        attrs.combine,
        attrs.shape,
        None if attrs.payload is None else over_values(attrs.payload, inputs),
        None if attrs.init is None else inputs[attrs.init],
        attrs.covered,
    )
