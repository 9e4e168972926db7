"""Solving accumulating affine stores into gathers, so that derivatives need no scatter.

``out[affine(axes)] += body`` becomes a loop over out's own axes: the input gradient of
a convolution turns into a contraction, that of a slice into a padded copy. A coordinate
``c * a + rest`` is solved for its axis ``a``; if it cannot be solved, the store remains
a scatter.

With a stride, as in the gradient of strided windows, the store is kept: a solution
would read at indices that are not affine. Instead, each tap's values are added in place
(passes/additions.py).

A store that writes each element at most once, such as the gradient of a slice or of a
diagonal, does not accumulate: if solving it would leave a guard, it remains a store,
which runs as a fill and a strided copy. Called by build.py. Affine reasoning is in
affine.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pellucid_compiler.ir.affine import Bounds, linear_in, simplify
from pellucid_compiler.ir.boxes import box_extents, in_box, inside_box
from pellucid_compiler.ir.expr import (
    AXES,
    Expr,
    axis,
    const,
    is_const,
    is_loaded,
    select,
)
from pellucid_compiler.ir.primitives.loop import Store
from pellucid_compiler.ir.traversal import axes_of, loads, rewrite


class GatherForm(NamedTuple):
    """The solved loop. ``is_guarded``: its body is zero where a condition fails;
    ``is_partial``: it is an injective store to some elements of the output.
    """

    extents: tuple[Expr, ...]
    store: Store
    is_guarded: bool = False
    is_partial: bool = False


def is_plain(index: Expr, size: Expr) -> bool:
    """Whether a store coordinate is one axis, or 0 in a dim of size 1."""
    return index.op == "axis" or (is_const(index, 0) and is_const(size, 1))


def gather_form(
    extents: Sequence[Expr], store: Store, shape: Sequence[Expr]
) -> GatherForm | None:
    """The same accumulation with a plain or an injective store, or None if there is
    none.
    """
    plain = [is_plain(i, n) for i, n in zip(store.place, shape, strict=True)]
    axes = [i.attr for i in store.place if i.op == "axis"]
    whole = all(
        i.op != "axis" or extents[i.attr] is n
        for i, n in zip(store.place, shape, strict=True)
    )
    if all(plain) and whole and len(set(axes)) == len(axes):
        return GatherForm(tuple(extents), store)
    solved = _Solver(extents, store, shape).solve()
    if solved is not None and not solved.is_guarded:
        return solved
    return _injective_form(extents, store, shape) or solved


def is_injective(extents: Sequence[Expr], place: Sequence[Expr]) -> bool:
    """Whether each axis has a coordinate of its own, so that no two points collide."""
    alone: set[int] = set()
    for index in place:
        if is_loaded(index):
            return False
        axes = axes_of(index)
        if len(axes) > 1:
            return False
        for a in axes:
            split = linear_in(index, a)
            if split is None or is_const(split[0], 0):
                return False
        alone.update(axes)
    return all(a in alone or is_const(n, 1) for a, n in enumerate(extents))


def _injective_form(
    extents: Sequence[Expr], store: Store, shape: Sequence[Expr]
) -> GatherForm | None:
    """An injective store, restricted to the points whose place is inside the output."""
    if not is_injective(extents, store.place):
        return None
    if not store.drop:
        return GatherForm(tuple(extents), store, is_partial=True)
    box = inside_box(extents, store.place, shape)
    if box is None:
        return None
    moved = Store(tuple(in_box(i, box) for i in store.place), in_box(store.body, box))
    return GatherForm(box_extents(extents, box), moved, is_partial=True)


def _extent_order(extent: Expr) -> float:
    """The order in which axes are solved for: the longest first, since the others
    remain as a sum for each element. An extent that calls choose counts as longer than
    a known one.
    """
    return extent.attr if extent.op == "const" else math.inf


class _Solver:
    def __init__(
        self, extents: Sequence[Expr], store: Store, shape: Sequence[Expr]
    ) -> None:
        self.count = len(extents)
        self.extents = list(extents)
        self.store = store
        self.shape = shape
        self.fresh = [
            const(0, "int64") if is_const(n, 1) else axis(self.count + d)
            for d, n in enumerate(shape)
        ]
        self.solved: dict[int, Expr] = {}
        self.guards: list[Expr] = []
        self.fixed_coordinates = 0

    def solve(self) -> GatherForm | None:
        order = sorted(range(len(self.shape)), key=lambda d: not self._is_easy(d))
        for d in order:
            if not self._solve_coordinate(d):
                return None
        remaining = [a for a in range(self.count) if a not in self.solved]
        if remaining and self.fixed_coordinates:
            # Every element would repeat the sum that one element needs.
            return None
        one = const(1, "int64")
        space = [one if a in self.solved else n for a, n in enumerate(self.extents)]
        space += self.shape
        bounds = Bounds(space)
        condition = const(True)
        for guard in self.guards:
            guard = self._put(guard)
            if not bounds.decide(guard):
                condition = condition & guard
        zero = const(0, self.store.body.dtype)
        body = select(condition, self._put(self.store.body), zero)
        is_guarded = condition.op != "const"
        return GatherForm(tuple(space), Store(tuple(self.fresh), body), is_guarded)

    def _is_easy(self, d: int) -> bool:
        """Whether coordinate ``d`` is an axis that runs over the whole dim."""
        index = self.store.place[d]
        return index.op == "axis" and self.extents[index.attr] is self.shape[d]

    def _put(self, e: Expr) -> Expr:
        """``e`` with the solved axes replaced."""
        return rewrite(
            e,
            lambda n, _: self.solved.get(n.attr) if n.op == "axis" else None,
            within=AXES,
        )

    def _solve_coordinate(self, d: int) -> bool:
        place = self.store.place[d]
        if not self.store.drop and any(not axes_of(e) for e in loads(place)):
            return False  # one index for all points, which the store checks
        index = self._put(place)
        free = sorted(a for a in axes_of(index) if a < self.count)
        free = [a for a in free if a not in self.solved]
        if not free:
            self.fixed_coordinates += not is_const(self.shape[d], 1)
            self.guards.append(self.fresh[d] == index)
            return True
        splits = {a: split for a in free if (split := linear_in(index, a))}
        if len(splits) < len(free):
            return False
        chosen = max(free, key=lambda a: _extent_order(self.extents[a]))
        factor, rest = splits[chosen]
        if not (is_const(factor, 1) or is_const(factor, -1)):
            return False
        target = simplify(self.fresh[d] - rest)
        self._set(chosen, target if is_const(factor, 1) else -target, self._is_easy(d))
        return True

    def _set(self, a: int, value: Expr, easy: bool) -> None:
        value = simplify(value)
        if not easy:
            self.guards += [value >= 0, value < self.extents[a]]
        one = {a: value}
        self.solved = {
            k: rewrite(v, lambda n, _: one.get(n.attr) if n.op == "axis" else None)
            for k, v in self.solved.items()
        }
        self.solved[a] = value
