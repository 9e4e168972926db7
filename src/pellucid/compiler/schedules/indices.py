"""Which loop of a nest an expression belongs to, and which axis suits vectors.

Called by ``schedules/nest.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.compiler.kernel import Store
from pellucid.ir.expr import LOADS, Expr, load_index, walk

Access = tuple[int, tuple[Expr, ...]]
"""An operand and the index of one of its elements."""


class Levels:
    """The level of an expression is the number of loops it is inside: 0 is none.

    ``hoisted[level]`` are expressions to compute there since deeper ones use them,
    ``hoisted_accesses`` likewise the loads and stores, as (operand, index), that have
    an index of that level.
    """

    def __init__(
        self,
        rank: int,
        roots: Sequence[Expr],
        stores: Sequence[tuple[int, Sequence[Expr]]],
    ) -> None:
        self.rank = rank
        self._levels: dict[Expr, int] = {}
        self._loads: dict[Expr, bool] = {}
        self._axes: dict[Expr, frozenset[int]] = {}
        order = walk(*roots)
        for e in order:
            inner = max((self._levels[arg] for arg in e.args), default=0)
            self._levels[e] = e.attr + 1 if e.op == "axis" else inner
            own = frozenset((e.attr,) if e.op == "axis" else ())
            self._axes[e] = own.union(*(self._axes[arg] for arg in e.args))
            self._loads[e] = e.op in LOADS or any(self._loads[arg] for arg in e.args)
        self.hoisted: list[list[Expr]] = [[] for _ in range(rank + 1)]
        self.hoisted_accesses: list[dict[Access, None]] = [{} for _ in range(rank + 1)]
        self._guarded = {e for e in self._under_selects(roots) if self._loads[e]}
        for operand, index in stores:
            self._hoist_access(operand, index)
        for e in order:
            if e.op == "const" or e in self._guarded:
                continue
            self.hoisted[self._levels[e]].append(e)
            if e.op in LOADS:
                self._hoist_access(e.attr, load_index(e))

    def _hoist_access(self, operand: int, index: Sequence[Expr]) -> None:
        for e in index:
            self.hoisted_accesses[self._levels[e]][operand, tuple(index)] = None

    def _under_selects(self, roots: Sequence[Expr]) -> set[Expr]:
        """Expressions that are needed only under some select's condition."""
        needed: set[Expr] = set()

        def visit(e: Expr) -> None:
            if e in needed:
                return
            needed.add(e)
            for arg in e.args[:1] if e.op == "select" else e.args:
                visit(arg)

        for root in roots:
            visit(root)
        return {e for e in walk(*roots) if e not in needed}

    def level(self, e: Expr) -> int:
        return self._levels[e]

    def is_guarded(self, e: Expr) -> bool:
        """Whether ``e`` has loads that only some select's branch needs."""
        return e in self._guarded

    def follows(self, e: Expr, axis: int | None) -> bool:
        """Whether ``e`` depends on the axis."""
        return axis in self._axes[e]


def value_nodes(stores: Sequence[Store]) -> list[Expr]:
    """What is computed as a value of some store, not as an index."""
    found: dict[Expr, None] = {}

    def visit(e: Expr) -> None:
        if e not in found:
            found[e] = None
            for arg in e.args[len(load_index(e)) :] if e.op in LOADS else e.args:
                visit(arg)

    for store in stores:
        visit(store.value)
    return list(found)


def lane_step(levels: Levels, e: Expr, axis: int) -> int | None:
    """By how much ``e`` grows along the axis; None if that is not constant."""
    if not levels.follows(e, axis):
        return 0
    if e.op == "axis":
        return 1
    if e.op in ("add", "sub"):
        first, second = (lane_step(levels, arg, axis) for arg in e.args)
        if first is None or second is None:
            return None
        return first + second if e.op == "add" else first - second
    return None


def lane_dimension(
    levels: Levels, index: Sequence[Expr], axis: int | None
) -> int | None:
    """The one dimension in which an index moves along the axis."""
    moving = [d for d, e in enumerate(index) if levels.follows(e, axis)]
    return moving[0] if moving else None


def vector_axis(
    levels: Levels, stores: Sequence[Store], output: int
) -> tuple[int, set[tuple[int, int]]] | None:
    """The axis to run in vectors, with the (operand, dimension) pairs that have to be
    dense for it: each load and store moves along it one element at a time, or not at
    all. The innermost such axis; another than the last one only if no element meets
    its contributions in another order for it.
    """
    for axis in reversed(range(levels.rank)):
        dimensions = _dense_dimensions(levels, stores, output, axis)
        if dimensions is not None and _keeps_order(levels, stores, axis):
            return axis, dimensions
    return None


def _dense_dimensions(
    levels: Levels, stores: Sequence[Store], output: int, axis: int
) -> set[tuple[int, int]] | None:
    places = [(output, store.index) for store in stores]
    for e in value_nodes(stores):
        if e.op in LOADS and any(levels.follows(i, axis) for i in load_index(e)):
            places.append((e.attr, load_index(e)))
    found = set()
    for operand, index in places:
        steps = [lane_step(levels, e, axis) for e in index]
        if None in steps or sorted(map(abs, filter(None, steps))) != [1]:
            return None
        if 1 not in steps:
            return None
        found.add((operand, steps.index(1)))
    return found


def _keeps_order(levels: Levels, stores: Sequence[Store], axis: int) -> bool:
    if axis == levels.rank - 1:
        return True
    moving = [e for e in stores[0].index if levels.follows(e, axis)]
    return len(stores) == 1 and all(levels.level(e) == axis + 1 for e in moving)
