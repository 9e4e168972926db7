"""The kind of schedule that a loop needs: inferred from the loop, asserted by the
declaration.

Kinds affect how a loop runs, never what it computes or how it is differentiated. The
lowering starts from ``kind_of`` and ``view_map``; lang checks a declared kind against
them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pellucid_compiler.ir.affine import linear_in
from pellucid_compiler.ir.expr import LOADS, Expr, is_loaded, load_index
from pellucid_compiler.ir.gather_form import is_plain
from pellucid_compiler.ir.graph import Node
from pellucid_compiler.ir.primitives.loop import LOOP, LoopAttrs
from pellucid_compiler.ir.traversal import loads, uses_axis


def kind_of(node: Node) -> str:
    """The schedule class: one of

    ``factory`` (no operand), ``view`` (one element at an affine index), ``map``,
    ``gather`` (an index is itself loaded), ``reduce``, ``contraction`` (a sum of
    products of different index sets), ``store`` (affine, not plain), ``scatter``; else
    the primitive's name.
    """
    return _loop_kind(node.attrs) if node.primitive is LOOP else node.primitive.name


@lru_cache(1024)  # every pass calls it again
def _loop_kind(attrs: LoopAttrs) -> str:
    if not has_plain_store(attrs):
        indices = [i for store in attrs.stores for i in store.place]
        return "scatter" if is_loaded(*indices) else "store"
    rank = stored_rank(attrs)
    body = attrs.stores[0].body
    reads = loads(body)
    gathers = any(is_loaded(*load_index(e)) for e in reads)
    if len(attrs.extents) > rank:
        return "contraction" if _is_contraction(attrs, rank) else "reduce"
    if not reads:
        return "factory"
    if gathers:
        return "gather"
    return "view" if _view_map(attrs) is not None else "map"


@lru_cache(1024)
def has_plain_store(attrs: LoopAttrs) -> bool:
    """One store, without ``init``, of each element at its own axes."""
    if len(attrs.stores) > 1 or attrs.init is not None:
        return False
    index = attrs.stores[0].place
    if not all(is_plain(i, n) for i, n in zip(index, attrs.shape, strict=True)):
        return False
    axes = [i.attr for i in index if i.op == "axis"]
    whole = all(
        attrs.extents[i.attr] is n
        for i, n in zip(index, attrs.shape, strict=True)
        if i.op == "axis"
    )
    return whole and len(axes) == len(set(axes))


def stored_rank(attrs: LoopAttrs) -> int:
    """The number of loop axes that are output dims; the others are reduced."""
    return len(
        {i.attr for store in attrs.stores for i in store.place if i.op == "axis"}
    )


def _is_contraction(attrs: LoopAttrs, rank: int) -> bool:
    body = attrs.store.body
    if attrs.combine != "sum":
        return False
    if body.op == "select":
        body = body.args[1]
    if body.op == "cast":
        body = body.args[0]
    if body.op != "mul":
        return False
    reduced = set(range(rank, len(attrs.extents)))
    touching = [
        e for e in loads(body) if any(uses_axis(i, reduced) for i in load_index(e))
    ]
    return len({_stored_axes(e, rank) for e in touching}) > 1


def _stored_axes(e: Expr, rank: int) -> frozenset[int]:
    return frozenset(
        a for a in range(rank) if any(uses_axis(i, {a}) for i in load_index(e))
    )


class ViewMap(NamedTuple):
    """``out[p] = operand[offset + sum over axes a of p[a] * steps[a]]``, per operand
    dim.
    """

    offset: tuple[Expr, ...]
    steps: tuple[tuple[Expr, ...], ...]


def view_map(node: Node) -> ViewMap | None:
    """The affine index map of a loop that only reads one element; else None.

    The runtime converts it to a storage offset and strides: it determines aliasing.
    """
    return _view_map(node.attrs)


@lru_cache(1024)
def _view_map(attrs: LoopAttrs) -> ViewMap | None:
    if not has_plain_store(attrs) or len(attrs.extents) > stored_rank(attrs):
        return None
    if attrs.payload is not None:
        return None
    body = attrs.stores[0].body
    if body.op != "load" or body.op not in LOADS:
        return None
    steps, offset = [], list(load_index(body))
    for a in range(len(attrs.extents)):
        parts = [linear_in(i, a) for i in offset]
        if any(p is None for p in parts):
            return None
        steps.append(tuple(p[0] for p in parts if p is not None))
        offset = [p[1] for p in parts if p is not None]
    if is_loaded(*offset):
        return None
    return ViewMap(tuple(offset), tuple(steps))
