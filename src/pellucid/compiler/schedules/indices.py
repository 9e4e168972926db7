"""Which loop of a nest an expression belongs to, and which indices move with the lanes.

Called by ``schedules/nest.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.compiler.kernel import Store
from pellucid.ir.expr import LOADS, Expr, load_index, walk


class Levels:
    """The level of an expression is the number of loops it is inside: 0 is none.

    ``hoisted[level]`` are expressions to compute there since deeper ones use them,
    ``hoisted_indices`` likewise (operand, dimension, index) of loads and stores.
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
        order = walk(*roots)
        for e in order:
            inner = max((self._levels[arg] for arg in e.args), default=0)
            self._levels[e] = e.attr + 1 if e.op == "axis" else inner
            self._loads[e] = e.op in LOADS or any(self._loads[arg] for arg in e.args)
        self.hoisted: list[list[Expr]] = [[] for _ in range(rank + 1)]
        self.hoisted_indices: list[list[tuple[int, int, Expr]]] = [
            [] for _ in range(rank + 1)
        ]
        self._guarded = {e for e in self._under_selects(roots) if self._loads[e]}
        for operand, index in stores:
            self._hoist_indices(operand, index)
        for e in order:
            if e.op == "const" or e in self._guarded:
                continue
            self.hoisted[self._levels[e]].append(e)
            if e.op in LOADS:
                self._hoist_indices(e.attr, load_index(e))

    def _hoist_indices(self, operand: int, index: Sequence[Expr]) -> None:
        for dimension, e in enumerate(index):
            self.hoisted_indices[self._levels[e]].append((operand, dimension, e))

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

    def innermost_values(self, stores: Sequence[Store]) -> list[Expr]:
        """What is computed in vectors: values of the innermost loop, not indices."""
        found: dict[Expr, None] = {}

        def visit(e: Expr) -> None:
            if e in found or self._levels[e] < self.rank:
                return
            found[e] = None
            args = e.args[len(load_index(e)) :] if e.op in LOADS else e.args
            for arg in args:
                visit(arg)

        for store in stores:
            visit(store.value)
        return list(found)


def lane_step(levels: Levels, e: Expr) -> int | None:
    """By how much ``e`` grows from lane to lane; None if that is not constant."""
    if levels.level(e) < levels.rank:
        return 0
    if e.op == "axis":
        return 1
    if e.op in ("add", "sub"):
        first, second = (lane_step(levels, arg) for arg in e.args)
        if first is None or second is None:
            return None
        return first + second if e.op == "add" else first - second
    return None


def lane_dimension(levels: Levels, index: Sequence[Expr]) -> int | None:
    """The one dimension in which an index moves with the lanes."""
    moving = [d for d, e in enumerate(index) if levels.level(e) == levels.rank]
    return moving[0] if moving else None


def vector_dimensions(
    levels: Levels, stores: Sequence[Store], output: int
) -> set[tuple[int, int]] | None:
    """The (operand, dimension) pairs that have to be dense for a vector loop.

    None if some load or store does not follow the lanes one element at a time.
    """
    places = [(output, store.index) for store in stores]
    values = levels.innermost_values(stores)
    places += [(e.attr, load_index(e)) for e in values if e.op in LOADS]
    found = set()
    for operand, index in places:
        steps = [lane_step(levels, e) for e in index]
        if sorted(steps, key=lambda step: step or 0) != [0] * (len(steps) - 1) + [1]:
            return None
        if None in steps:
            return None
        found.add((operand, steps.index(1)))
    return found
