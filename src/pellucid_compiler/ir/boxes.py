"""Boxes: the part of an iteration space in which indices are inside their dims.

``axis + offset`` is inside ``[0, size)`` for a range of the axis. Padded loads,
dropping stores and piecewise bodies become loops over such ranges. Called by
gather_form.py and passes/ranges.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from pellucid_compiler.ir.affine import Bounds, linear_in, simplify
from pellucid_compiler.ir.expr import (
    AXES,
    LOADED,
    LOADS,
    Expr,
    const,
    intern_expr,
    is_const,
    is_loaded,
    make,
)
from pellucid_compiler.ir.traversal import axes_of, rewrite


class Range(NamedTuple):
    start: Expr
    stop: Expr


Box: TypeAlias = "Mapping[int, Range]"


def shift_of(index: Expr) -> tuple[int, Expr] | None:
    """(axis, offset) of ``axis + offset``; None for any other index."""
    axes = axes_of(index)
    if len(axes) != 1 or is_loaded(index):
        return None
    (a,) = axes
    split = linear_in(index, a)
    return (a, split[1]) if split is not None and is_const(split[0], 1) else None


def clamped(value: Expr, low: Expr, high: Expr) -> Expr:
    """``value`` clamped to [low, high]; for sizes it is often known to be within."""
    bounds = Bounds(())
    if not bounds.is_nonnegative(value - low):
        value = make("maximum", value, low)
    if not bounds.is_nonnegative(high - value):
        value = make("minimum", value, high)
    return simplify(value)


def inside_box(
    extents: Sequence[Expr], indices: Sequence[Expr], sizes: Sequence[Expr]
) -> dict[int, Range] | None:
    """The ranges of axes on which every index is inside; None if that is not a box."""
    bounds, zero = Bounds(extents), const(0, "int64")
    box: dict[int, Range] = {}
    for index, size in zip(indices, sizes, strict=True):
        if bounds.is_inside(index, size):
            continue
        found = shift_of(index)
        if found is None:
            return None
        a, offset = found
        start, stop = box.get(a, Range(zero, extents[a]))
        first = clamped(simplify(-offset), start, stop)
        box[a] = Range(first, clamped(simplify(size - offset), first, stop))
    return box


def box_extents(extents: Sequence[Expr], box: Box) -> tuple[Expr, ...]:
    """The iteration space of a box; never negative."""
    return tuple(
        simplify(box[a].stop - box[a].start) if a in box else n
        for a, n in enumerate(extents)
    )


def in_box(e: Expr, box: Box) -> Expr:
    """``e`` with the axes counted from the box's start; indices are simplified."""

    def leaf(node: Expr, args: tuple[Expr, ...]) -> Expr | None:
        if node.op in LOADS:
            return intern_expr(
                node.op, tuple(map(simplify, args)), node.attr, node.dtype
            )
        found = box.get(node.attr) if node.op == "axis" else None
        return None if found is None else node + found.start

    return simplify(rewrite(e, leaf, within=LOADED | AXES))
