"""The body of one loop of a nest: which values are computed in it, and how.

Every expression is computed in the outermost possible loop, so a level looks values up
in the levels around it. Called by ``nest.py`` and ``nest_stores.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pellucid_compiler.abi.status import OUT_OF_BOUNDS, REQUIREMENT_FAILED, status
from pellucid_compiler.codegen.builder import I1, I64, Value
from pellucid_compiler.codegen.emit import parameter_value
from pellucid_compiler.codegen.formats import (
    constant,
    convert,
    from_memory,
    memory_type,
    register_type,
)
from pellucid_compiler.codegen.kernel import parameter_number
from pellucid_compiler.codegen.lowerings import LOWERINGS
from pellucid_compiler.codegen.schedules.access import (
    load_lanes,
    load_run,
    load_scattered,
)
from pellucid_compiler.codegen.schedules.indices import Access, moving_dimensions
from pellucid_compiler.codegen.schedules.nest_context import NestContext
from pellucid_compiler.ir.expr import LOADS, Expr, is_const, load_fill, load_index


class LoopLevel:
    """The body of one loop: the values computed in it, and those of the outer loops.

    ``index`` is the loop's index (of lane 0). Indices have one lane; values that depend
    on the vectorised axis have ``lanes``, of which those under ``mask`` are active.
    """

    def __init__(
        self,
        nest: NestContext,
        outer: LoopLevel | None,
        index: Value | None,
        lanes: int,
        mask: Value | None,
    ) -> None:
        self.nest, self.outer, self.index = nest, outer, index
        self.lanes, self.mask = lanes, mask
        self.level: int = outer.level + 1 if outer else 0
        self.function = nest.function
        self._values: dict[tuple[Expr, str, int], Value] = {}
        self._partials: dict[Access, tuple[Value, Value]] = {}

    def axes(self) -> list[Value]:
        """The indices of the loops so far, outermost first."""
        outer = self.outer.axes() if self.outer else []
        return outer if self.index is None else [*outer, self.index]

    # ------------------------------------------------------------------ values

    def prepare_all(self) -> None:
        """Compute the values that inner loops need and that are invariant in them."""
        nest = self.nest
        if self.level == nest.form.rank:
            return
        for e in nest.levels.hoisted[self.level]:
            follows = nest.levels.follows(e, nest.axis)
            if not follows or e in nest.values:
                self.value(e, None, self.lanes if follows else 1)
        for operand, index in nest.levels.hoisted_accesses[self.level]:
            self._partial(operand, index, None)

    def value(self, e: Expr, guard: Value | None, lanes: int) -> Value:
        """The value of ``e`` where ``guard`` holds; undefined elsewhere."""
        f = self.function
        if e.op == "const":
            return constant(f, e.attr, e.dtype, lanes)
        guard = guard if self.nest.levels.is_guarded(e) else None
        if lanes > 1 and not self.nest.levels.follows(e, self.nest.axis):
            return f.splat(self.value(e, self._anywhere(guard), 1), lanes)
        key = (e, "" if guard is None else guard.text, lanes)
        found = self._lookup(key)
        if found is None:
            found = self._values[key] = self._compute(e, guard, lanes)
        return found

    def _anywhere(self, guard: Value | None) -> Value | None:
        """Whether the guard holds in any active lane."""
        if guard is None:
            return None
        active = self.active(guard, guard.type.lanes)
        return self.function.any_lane(guard if active is None else active)

    def _lookup(self, key: tuple[Expr, str, int]) -> Value | None:
        place: LoopLevel | None = self
        while place is not None:
            if key in place._values:
                return place._values[key]
            place = place.outer
        return None

    def _compute(self, e: Expr, guard: Value | None, lanes: int) -> Value:
        f = self.function
        if e.op == "axis":
            index: Value = self.axes()[e.attr]
            if lanes == 1:
                return index
            return f.splat(index, lanes) + f.lane_numbers(I64.with_lanes(lanes))
        if e.op == "sym":
            dtype = self.nest.kernel.params[parameter_number(e)]
            params = self.nest.entry.params
            return parameter_value(f, params, parameter_number(e), dtype)
        if e.op in LOADS:
            return self._load(e, guard, lanes)
        if e.op == "select":
            return self._select(e, guard, lanes)
        args = [self.value(arg, guard, lanes) for arg in e.args]
        if e.op == "checked":
            failure = f.integer(status(REQUIREMENT_FAILED, e.attr))
            self._leave(args[1], self.active(guard, lanes), lambda _: failure)
            return args[0]
        if e.op == "cast":
            return convert(f, args[0], e.args[0].dtype, e.dtype)
        if e.op == "bitcast":
            return f.bitcast(args[0], register_type(e.dtype, lanes))
        result: Value = LOWERINGS[e.op](f, e.args[0].dtype, *args)
        return result

    def _select(self, e: Expr, guard: Value | None, lanes: int) -> Value:
        condition = self.value(e.args[0], guard, lanes)
        yes, no = condition, ~condition
        if guard is not None:
            yes, no = guard & yes, guard & no
        first, second = (
            self.value(e.args[1], yes, lanes),
            self.value(e.args[2], no, lanes),
        )
        return self.function.select(condition, first, second)

    # ------------------------------------------------------------------ indices

    def _partial(
        self, operand: int, index: tuple[Expr, ...], guard: Value | None
    ) -> tuple[Value, Value]:
        """The partial address and the checks from indices known in this loop.

        Continues from the outer loops' partial address. The index that moves along the
        lanes is checked elsewhere."""
        f, levels = self.function, self.nest.levels
        proved = self.nest.proved
        guarded = any(levels.is_guarded(e) for e in index)
        known: LoopLevel | None = None if guarded else self
        while known is not None and (operand, index) not in known._partials:
            known = known.outer
        place, inside = self.nest.pointers[operand], f.constant(True, I1)
        if known is not None:
            place, inside = known._partials[operand, index]
        first = -1 if known is None else known.level
        moving = moving_dimensions(levels, index, self.nest.axis)
        scattered = bool(moving) and self.nest.lane_steps(operand, index) is None
        for dimension, e in enumerate(index):
            if not first < levels.level(e) <= self.level:
                continue
            if scattered and dimension in moving:
                continue
            value = self.value(e, guard, 1)
            place = f.offset(place, value * self.nest.strides[operand][dimension])
            known_inside = (operand, dimension) in proved or (
                (operand, index, dimension) in self.nest.in_range
            )
            if dimension not in moving and not known_inside:
                size = self.nest.shapes[operand][dimension]
                inside = inside & f.compare("ult", value, size)
        if not guarded:
            self._partials[operand, index] = place, inside
        return place, inside

    def address(
        self, operand: int, index: Sequence[Expr], guard: Value | None, lanes: int
    ) -> tuple[Value, Value]:
        """The address of lane 0's element, and the lanes that are in bounds."""
        f, levels = self.function, self.nest.levels
        place, inside = self._partial(operand, tuple(index), self._anywhere(guard))
        if lanes == 1:
            return place, inside
        inside = f.splat(inside, lanes)
        moving = moving_dimensions(levels, index, self.nest.axis)
        steps = self.nest.lane_steps(operand, tuple(index)) if moving else ()
        for dimension in moving:
            if (operand, dimension) in self.nest.proved:
                continue
            size = self.nest.shapes[operand][dimension]
            if steps is None:
                each = self.value(index[dimension], guard, lanes)
                held = f.compare("ult", each, size)
            else:
                first = self.value(index[dimension], None, 1)
                held = self._lanes_inside(first, steps[dimension], size, lanes)
            inside = inside & held
        return place, inside

    def _lanes_inside(self, first: Value, step: Expr, size: Value, lanes: int) -> Value:
        """The lanes whose index, ``first`` plus ``step`` times their number, is in
        bounds.
        """
        f = self.function
        if is_const(step, 1):
            before = f.first_lanes(f.maximum(0 - first, 0), lanes)
            return f.first_lanes(f.maximum(size - first, 0), lanes) & ~before
        numbers = f.lane_numbers(I64.with_lanes(lanes))
        index = numbers * self.nest.element_steps[step] + first
        return f.compare("ult", index, size)

    # ------------------------------------------------------------------ loads

    def active(self, guard: Value | None, lanes: int) -> Value | None:
        """The active lanes: under the guard, and before the loop's end."""
        if self.mask is None or lanes == 1:
            return guard
        return self.mask if guard is None else self.mask & guard

    def _load(self, e: Expr, guard: Value | None, lanes: int) -> Value:
        f, entry = self.function, self.nest.entry
        place, inside = self.address(e.attr, load_index(e), guard, lanes)
        dtype, fill = entry.dtypes[e.attr], load_fill(e)
        active = self.active(guard, lanes)
        checks = self.nest.checks(e.attr)
        if fill is None and checks:
            if guard is None and not self._differs_by_lane(e):
                _, inside_all = self._partial(e.attr, load_index(e), None)
                self.require(inside_all, None)
            else:
                self.require(inside, active)
        if fill is None and guard is None:
            if active is None:
                f.touch(place, memory_type(dtype).element_bytes, "read_global")
                return load_run(f, entry.target, place, dtype, 1)
            return self._read(e, place, active, guard, lanes)
        readable = inside if active is None else inside & active
        value = self._read(e, place, readable, guard, lanes)
        if fill is None:
            return value
        return f.select(inside, value, self.value(fill, guard, lanes))

    def _differs_by_lane(self, e: Expr) -> bool:
        """Whether a checked index differs between lanes."""
        nest, index = self.nest, load_index(e)
        moving = moving_dimensions(nest.levels, index, nest.axis)
        return any((e.attr, dimension) not in nest.proved for dimension in moving)

    def require(self, inside: Value, active: Value | None) -> None:
        """Return from the kernel if an active lane is out of bounds."""
        self._leave(inside, active, self._failure)

    def _leave(
        self, holds: Value, active: Value | None, failure: Callable[[Value], Value]
    ) -> None:
        """Return from the kernel if ``holds`` is false in an active lane, with the
        status of that lane.
        """
        f = self.function
        bad = ~holds if active is None else ~holds & active
        f.return_if(f.any_lane(bad), lambda: failure(bad))

    def _read(
        self, e: Expr, place: Value, readable: Value, guard: Value | None, lanes: int
    ) -> Value:
        """Load the elements under ``readable``; others are not accessed."""
        f, nest, index = self.function, self.nest, load_index(e)
        dtype = nest.entry.dtypes[e.attr]
        if lanes > 1 and nest.lane_steps(e.attr, index) is None:
            offsets = f.constant(0, I64.with_lanes(lanes))
            for d in moving_dimensions(nest.levels, index, nest.axis):
                each = self.value(index[d], guard, lanes)
                offsets = offsets + each * nest.strides[e.attr][d]
            return load_scattered(f, place, offsets, readable, dtype)
        if lanes > 1:
            step = nest.steps[e.attr, index]
            return load_lanes(f, place, step, readable, dtype)
        f.touch(place, memory_type(dtype).element_bytes, "read_global", readable)
        safe = f.select(readable, place, nest.dummy)
        return from_memory(f, f.load(safe, memory_type(dtype)), dtype)

    def _failure(self, bad: Value) -> Value:
        """The status of an index out of bounds at the first point under ``bad``."""
        f = self.function
        flat = f.integer(0)
        for depth, index in enumerate(self.axes()):
            extent = self.nest.extents[depth - 1] if depth else f.integer(1)
            differs = depth == self.nest.axis and bad.type.lanes > 1
            lane = f.first_lane(bad) if differs else f.integer(0)
            flat = flat * extent + (index + lane)
        return (flat & ((1 << 48) - 1)) | status(OUT_OF_BOUNDS)
