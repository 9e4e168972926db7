"""What a nest computes, prepared for its loops: axes in another order, the ends of
loops that follow from guards, and the payload of an element's first point.

Rewrites expressions and writes no code. Called by ``nest.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pellucid_compiler.codegen.kernel import Nest, Store
from pellucid_compiler.ir.expr import Expr, axis, cast, const, is_const
from pellucid_compiler.ir.primitives.loop import identity
from pellucid_compiler.ir.traversal import rewrite, walk, without_partials

COMBINING_OPS = {
    "sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "and": "and",
    "or": "or",
}  # fmt: skip


def bare_store(store: Store, dtype: str) -> Store:
    """The store with its value in the computed dtype, without the final cast."""
    value = store.value if store.payload is not None else cast(store.value, dtype)
    return Store(store.index, without_partials(value), store.drop, store.payload)


def bounded_loops(store: Store, form: Nest) -> tuple[dict[int, Expr], list[Store]]:
    """The loop ends that follow from guards of the store's value, and the store without
    the guards: ``where(k < end, x, 0)`` adds nothing from ``end`` on. The end is the
    same for all elements along the last stored axis, which may be vectorised.
    """
    bounds: dict[int, Expr] = {}
    value = store.value
    stored = {e.attr for e in walk(*store.index) if e.op == "axis"}
    last = max(stored, default=0)
    while (found := _guard(value, form.combine)) is not None:
        number, end, inner = found
        outer = all(e.attr < last for e in walk(end) if e.op == "axis")
        if number in bounds or number <= last or not outer:
            break
        bounds[number], value = end, inner
    return bounds, [replace(store, value=value)]


def _guard(value: Expr, combine: str) -> tuple[int, Expr, Expr] | None:
    """(axis, end, value) of ``where(axis < end, value, identity)``; through a cast."""
    if value.op == "cast":
        found = _guard(value.args[0], combine)
        return found and (*found[:2], cast(found[2], value.dtype))
    if value.op != "select":
        return None
    condition, inner, other = value.args
    if condition.op != "lt" or condition.args[0].op != "axis":
        return None
    if not is_const(other, identity(combine, value.dtype)):
        return None
    return condition.args[0].attr, condition.args[1], inner


def payload_at_start(payload: Expr, index: Sequence[Expr]) -> Expr:
    """The payload of an element's first point: the result if no value is better."""
    used = {e for e in walk(*index) if e.op == "axis"}
    zero = const(0, "int64")
    return rewrite(
        payload, lambda e, _: zero if e.op == "axis" and e not in used else None
    )


def in_order(form: Nest, order: Sequence[int]) -> Nest:
    """The nest with its axes numbered in another order."""
    place = {axis(old): axis(new) for new, old in enumerate(order)}

    def moved(e: Expr) -> Expr:
        return rewrite(e, lambda n, _: place.get(n) if n.op == "axis" else None)

    stores = tuple(
        Store(
            tuple(map(moved, store.index)),
            moved(store.value),
            store.drop,
            None if store.payload is None else moved(store.payload),
        )
        for store in form.stores
    )
    return replace(form, stores=stores, channels_last_order=())
