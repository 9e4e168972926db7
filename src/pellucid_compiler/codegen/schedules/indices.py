"""Loop-invariant code motion and the choice of the vectorised axis of a nest.

Called by ``schedules/nest.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pellucid_compiler.codegen.kernel import Store
from pellucid_compiler.ir.expr import LOADS, Expr, const, is_const, load_index
from pellucid_compiler.ir.traversal import preorder, value_operands, walk

Access = tuple[int, tuple[Expr, ...]]
"""An operand and the index of one of its elements."""

_GATHERED = 4
"""Elements of at least so many bytes may be strided: one instruction gathers them."""


class Levels:
    """The level of each expression: the number of loops that it must be inside.

    ``hoisted[level]`` are the expressions to compute at that level because deeper ones
    use them; ``hoisted_accesses`` are the loads and stores, as (operand, index), with
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
        """Expressions that are needed only in a branch of a select."""
        needed = preorder(roots, lambda e: e.args[:1] if e.op == "select" else e.args)
        return {e for e in walk(*roots) if e not in needed}

    def level(self, e: Expr) -> int:
        return self._levels[e]

    def is_guarded(self, e: Expr) -> bool:
        """Whether ``e`` has loads that are needed only in a branch of a select."""
        return e in self._guarded

    def is_uniform(self, e: Expr) -> bool:
        """Whether ``e`` is uniform over the call and has no loads."""
        return self._levels[e] == 0 and not self._loads[e]

    def follows(self, e: Expr, axis: int | None) -> bool:
        """Whether ``e`` depends on the axis."""
        return axis in self._axes[e]


def value_nodes(stores: Sequence[Store]) -> list[Expr]:
    """The expressions that are computed for stored values, not for indices."""
    roots: list[Expr] = []
    for store in stores:
        roots.append(store.value)
        if store.payload is not None:
            roots.append(store.payload)
    return list(preorder(roots, value_operands))


def lane_step(levels: Levels, e: Expr, axis: int) -> Expr | None:
    """The step of the index ``e`` along the axis, which is uniform over the call; None
    if it is not constant.
    """
    if not levels.follows(e, axis):
        return const(0, "int64")
    if e.op == "axis":
        return const(1, "int64")
    if e.op in ("add", "sub"):
        first, second = (lane_step(levels, arg, axis) for arg in e.args)
        if first is None or second is None:
            return None
        return first + second if e.op == "add" else first - second
    if e.op == "mul":
        return _scaled(levels, e, axis)
    return None


def _scaled(levels: Levels, e: Expr, axis: int) -> Expr | None:
    """The step of a product with one factor that is uniform over the call."""
    moving, factor = e.args if levels.follows(e.args[0], axis) else e.args[::-1]
    step = lane_step(levels, moving, axis)
    if step is None or not levels.is_uniform(factor):
        return None
    return step * factor


def moving_dimensions(
    levels: Levels, index: Sequence[Expr], axis: int | None
) -> list[int]:
    """The dimensions in which an index moves along the axis."""
    return [d for d, e in enumerate(index) if levels.follows(e, axis)]


class Lanes(NamedTuple):
    """The memory layout of the points along a vector axis.

    ``dense``: (operand, dimension) pairs that must be contiguous at run time.
    ``steps``: per load that moves, the step of each dimension's index; None if it is
    not constant. ``values``: the expressions that are computed in every lane.
    """

    axis: int
    dense: frozenset[tuple[int, int]]
    steps: Mapping[Access, tuple[Expr, ...] | None]
    values: frozenset[Expr]


def vector_axis(
    levels: Levels,
    stores: Sequence[Store],
    outputs: Sequence[int],
    widths: Sequence[int],
) -> Lanes | None:
    """The axis to vectorise: along it, the index of each store grows by one or is
    constant; loads are unrestricted. The innermost such axis is chosen; one that is not
    the last only if every element's contributions retain their order. ``widths``: bytes
    of an element, by operand.
    """
    for axis in reversed(range(levels.rank)):
        lanes = _lanes(levels, stores, outputs, axis, widths)
        if lanes is not None and _keeps_order(levels, stores, axis):
            return lanes
    return None


def _lanes(
    levels: Levels,
    stores: Sequence[Store],
    outputs: Sequence[int],
    axis: int,
    widths: Sequence[int],
) -> Lanes | None:
    dense: set[tuple[int, int]] = set()
    steps: dict[Access, tuple[Expr, ...] | None] = {}
    for store in stores:
        dimension = _single_step(_steps(levels, store.index, axis))
        if dimension is None:
            return None
        dense.update((output, dimension) for output in outputs)
    values: dict[Expr, None] = {}
    left = value_nodes(stores)
    while left:
        e = left.pop()
        if e in values:
            continue
        values[e] = None
        index = load_index(e) if e.op in LOADS else ()
        left += e.args[len(index) :]
        if not moving_dimensions(levels, index, axis):
            continue
        steps[e.attr, index] = found = _steps(levels, index, axis)
        if found is None:
            left += index
        if widths[e.attr] < _GATHERED:
            dimension = _single_step(found)
            if dimension is None:
                return None
            dense.add((e.attr, dimension))
    return Lanes(axis, frozenset(dense), steps, frozenset(values))


def _steps(levels: Levels, index: Sequence[Expr], axis: int) -> tuple[Expr, ...] | None:
    found = tuple(s for e in index if (s := lane_step(levels, e, axis)) is not None)
    return found if len(found) == len(index) else None


def _single_step(steps: Sequence[Expr] | None) -> int | None:
    """The only dimension that moves, if its step is one."""
    if steps is None:
        return None
    moving = [d for d, step in enumerate(steps) if not is_const(step, 0)]
    return moving[0] if len(moving) == 1 and is_const(steps[moving[0]], 1) else None


def _keeps_order(levels: Levels, stores: Sequence[Store], axis: int) -> bool:
    if axis == levels.rank - 1:
        return True
    moving = [e for e in stores[0].index if levels.follows(e, axis)]
    return len(stores) == 1 and all(levels.level(e) == axis + 1 for e in moving)
