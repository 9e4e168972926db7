"""The schedule of ``nest``: any loop nest, with computed and checked indices.

Every expression is computed in the outermost possible loop (``_LoopLevel``):
loop-invariant code motion. One axis is vectorised if the stores that depend on it have
stride 1 along it; loads may have any strides. Otherwise the nest runs point by point.
If the inner loops only add to an element, or compute its maximum, it is accumulated in
a register, in the order of the loops. Called by ``generate.py``. Read next:
``indices.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pellucid_compiler.abi.status import (
    OUT_OF_BOUNDS,
    REQUIREMENT_FAILED,
    status,
)
from pellucid_compiler.codegen.builder import I1, I64, Module, Value
from pellucid_compiler.codegen.emit import parameter_value
from pellucid_compiler.codegen.formats import (
    constant,
    convert,
    from_memory,
    is_unsigned,
    memory_type,
    register_type,
    to_memory,
    widest_bits,
)
from pellucid_compiler.codegen.kernel import (
    Kernel,
    Nest,
    Store,
    check_kernel,
    parameter_number,
)
from pellucid_compiler.codegen.lowerings import LOWERINGS
from pellucid_compiler.codegen.schedules.access import (
    Entry,
    has_masked_access,
    load_lanes,
    load_run,
    load_scattered,
    open_kernel,
    store_run,
    store_under,
)
from pellucid_compiler.codegen.schedules.indices import (
    Access,
    Lanes,
    Levels,
    moving_dimensions,
    vector_axis,
)
from pellucid_compiler.codegen.schedules.nest_form import (
    COMBINING_OPS,
    bare_store,
    bounded_loops,
    in_order,
    payload_at_start,
)
from pellucid_compiler.codegen.targets.x86 import Target
from pellucid_compiler.ir.dtypes import is_real_float
from pellucid_compiler.ir.expr import (
    LOADS,
    Expr,
    axis,
    const,
    is_const,
    load_fill,
    load_index,
    walk,
)
from pellucid_compiler.ir.primitives.loop import identity

_VECTORS = 4  # vectors of channels that share loops
_MOST_LANES = 64  # lanes of a mask


class NestWriter:
    """One kernel: its operands' shapes and strides, its loops, its stores."""

    def __init__(
        self, entry: Entry, form: Nest, order: Sequence[int], checked: bool
    ) -> None:
        kernel = entry.kernel
        self.entry, self.order = entry, order
        self.function, self.kernel, self.form = entry.function, kernel, form
        self.stores = [bare_store(s, kernel.outputs[0]) for s in form.stores]
        self.bounds: dict[int, Expr] = {}
        if form.combine in COMBINING_OPS and len(self.stores) == 1:
            self.bounds, self.stores = bounded_loops(self.stores[0], form)
        roots = [e for s in self.stores for e in (*s.index, s.value)]
        roots += self.bounds.values()
        self.payload, self.first_payload = None, None
        if form.stores[0].payload is not None:
            self.payload = form.stores[0].payload
            self.first_payload = payload_at_start(self.payload, self.stores[0].index)
            roots += [self.payload, self.first_payload]
        padded = {e.attr for e in walk(*roots) if load_fill(e) is not None}
        known = () if checked else form.proved
        self.proved = {(k, dim) for k, dim in known if k not in padded}
        places = [(k, s.index) for s in self.stores for k in self.outputs]
        self.levels = Levels(form.rank, roots, places)
        self.pointers = self.entry.pointers()
        self.in_range: set[tuple[int, tuple[Expr, ...], int]] = set()
        self.lanes: Lanes | None = None
        self.values: frozenset[Expr] = frozenset()
        last = max((self.levels.level(e) for e in self.stores[0].index), default=0)
        sums = form.combine != "assign" and len(self.stores) == 1
        self.accumulates = sums and not self.stores[0].drop and last < form.rank
        self.store_level = last
        self._read_layout()
        self.dummy = self.function.stack(64 * 8)

    def _read_layout(self) -> None:
        """Extents, then shapes and strides by load number; those of outputs are
        last.
        """
        f, entry, form = self.function, self.entry, self.form
        self.begin, self.end = entry.size(0), entry.size(1)
        self.extents = [entry.size(1 + axis) for axis in self.order[1:]]
        shapes, strides = [], []
        size, stride = 1 + max(form.rank, 1), 0
        for rank in form.operand_ranks:
            shapes.append([entry.size(size + d) for d in range(rank)])
            strides.append([entry.stride(stride + d) for d in range(rank)])
            size, stride = size + rank, stride + rank
        first = len(self.kernel.outputs)
        self.shapes = shapes[first:] + shapes[:first]
        self.strides = strides[first:] + strides[:first]
        begins = self.payload is not None or form.begins
        outer = self.store_level if begins else form.rank
        for extent in self.extents[: max(outer - 1, 0)]:
            empty = extent <= 0
            f.return_if(empty, lambda: f.integer(0))

    def lane_steps(
        self, operand: int, index: tuple[Expr, ...]
    ) -> Sequence[Expr] | None:
        """The step of each dimension's index from lane to lane; None if it is not
        constant.
        """
        assert self.lanes is not None
        if operand in self.outputs:
            return [const(1, "int64")] * len(index)
        return self.lanes.steps[operand, index]

    def checks(self, operand: int) -> bool:
        """Whether indices of the operand must be checked."""
        shape = self.shapes[operand]
        return any((operand, dim) not in self.proved for dim in range(len(shape)))

    @property
    def outputs(self) -> range:
        """The outputs' numbers among shapes, strides and pointers."""
        return range(len(self.kernel.inputs), len(self.entry.dtypes))

    @property
    def output(self) -> int:
        """The number of the output that the stores write."""
        return self.outputs[0]

    @property
    def gives_best(self) -> bool:
        """Whether a second output receives the values that the payloads belong to."""
        return len(self.outputs) > 1

    @property
    def axis(self) -> int | None:
        """The vectorised axis."""
        return None if self.lanes is None else self.lanes.axis

    def write(self) -> None:
        f, dtypes = self.function, self.entry.dtypes
        widths = [memory_type(d).element_bytes for d in dtypes]
        chosen = vector_axis(self.levels, self.stores, self.outputs, widths)
        ends = self.bounds.values()
        if chosen and any(self.levels.follows(end, chosen.axis) for end in ends):
            chosen = None  # a loop's end cannot differ between lanes
        if chosen is None or not self._has_masks(chosen):
            self._loops(None, 1)
        else:
            dense = f.constant(True, I1)
            for operand, dimension in sorted(chosen.dense):
                step = self.strides[operand][dimension]
                dense = dense & step.equals(widths[operand])
            f.branch(dense, lambda: self._runs(chosen), lambda: self._loops(None, 1))

    def _runs(self, chosen: Lanes) -> None:
        """Write the loops, vectorised along the chosen axis. If channels are the
        innermost stored axis, several vectors of them share the loop-invariant values
        and the loops over reduced axes.
        """
        one = self._num_lanes(chosen)
        wide = min(_VECTORS * one, _MOST_LANES)
        is_turned = list(self.order) != list(range(self.form.rank))
        shares = is_turned or any(a > chosen.axis for a in self.bounds)
        shares = shares and chosen.axis > 0 and self.entry.target.has_masks
        if not shares or wide <= one:
            return self._loops(chosen, one)
        channels = self.extents[chosen.axis - 1]
        self.function.branch(
            channels > wide // 2,
            lambda: self._loops(chosen, wide),
            lambda: self._loops(chosen, one),
        )
        return None

    def _num_lanes(self, lanes: Lanes) -> int:
        """The number of lanes, limited by the widest value that differs between
        lanes.
        """
        values, axis = lanes.values, lanes.axis
        varying = [e.dtype for e in values if self.levels.follows(e, axis)]
        bits = widest_bits([*self.kernel.outputs, *varying])
        return self.entry.target.vector_bits // bits

    def _has_masks(self, lanes: Lanes) -> bool:
        target, dtypes = self.entry.target, self.entry.dtypes
        return all(has_masked_access(target, dtypes[k]) for k, _ in lanes.dense)

    def _loops(self, chosen: Lanes | None, lanes: int) -> None:
        """Write all loops; those from the chosen axis inwards use vectors of
        ``lanes``.
        """
        self.lanes = chosen
        self.values = chosen.values if chosen else frozenset()
        self.steps, self.element_steps = self._lane_steps(chosen)
        self._loop(_LoopLevel(self, None, None, 1, None), lanes, ())

    def _lane_steps(
        self, chosen: Lanes | None
    ) -> tuple[dict[Access, Value], dict[Expr, Value]]:
        """The steps from lane to lane: in bytes per access, and of indices."""
        f, uniform = self.function, self.entry.uniform()
        by_access: dict[Access, Value] = {}
        by_step: dict[Expr, Value] = {}
        for access, steps in chosen.steps.items() if chosen else ():
            if steps is None:
                continue
            num_bytes = f.integer(0)
            for dimension, e in enumerate(steps):
                by_step[e] = step = uniform.value(e)
                num_bytes = num_bytes + step * self.strides[access[0]][dimension]
            by_access[access] = num_bytes
        return by_access, by_step

    def _loop(
        self, place: _LoopLevel, lanes: int, accumulator: Sequence[Value]
    ) -> Sequence[Value]:
        """Write the loops inside of ``place``, then the stores.

        An element that the inner loops only add to is held in ``accumulator``."""
        f = self.function
        place.prepare_all()
        depth = place.level
        starts = self.accumulates and depth == self.store_level
        if starts:
            targets, accumulator = place.open_element()
        if depth == self.form.rank:
            if accumulator:
                return place.combined(accumulator)
            place.write_stores()
            return ()
        start = self.begin if depth == 0 else f.integer(0)
        stop = self.end if depth == 0 else self.extents[depth - 1]
        if depth in self.bounds:
            stop = f.minimum(stop, place.value(self.bounds[depth], None, 1))
            self._check_ranges(place, stop)
        turns = depth == self.axis

        def body(index: Value, carried: list[Value]) -> Sequence[Value]:
            mask = place.mask
            if turns:
                mask = f.first_lanes(stop - index, lanes)
            width = lanes if turns else place.lanes
            level = _LoopLevel(self, place, index, width, mask)
            return self._loop(level, lanes, carried)

        found = f.loop(start, stop, lanes if turns else 1, accumulator, body)
        if starts:
            place.close_element(targets, found)
            return ()
        return found

    def _check_ranges(self, place: _LoopLevel, stop: Value) -> None:
        """Check indices that are the index of the loop inside of ``place`` plus a
        constant, once for all of its points. The loop ends at ``stop``.
        """
        f, levels, depth = self.function, self.levels, place.level

        def leave(first: Value, size: Value) -> Callable[[], Value]:
            def at_the_first_one_outside() -> Value:
                reached = f.select(first >= 0, f.maximum(size - first, 0), 0)
                return self._range_failure(place, reached)

            return at_the_first_one_outside

        for operand, index in levels.hoisted_accesses[depth + 1]:
            if operand in self.outputs or any(map(levels.is_guarded, index)):
                continue
            for dimension, e in enumerate(index):
                start = _start_along(levels, e, depth)
                if start is None or (operand, dimension) in self.proved:
                    continue
                first, size = (
                    place.value(start, None, 1),
                    self.shapes[operand][dimension],
                )
                inside = (first >= 0) & (stop <= size - first)
                f.return_if((stop > 0) & ~inside, leave(first, size))
                self.in_range.add((operand, index, dimension))

    def _range_failure(self, place: _LoopLevel, index: Value) -> Value:
        """The status of an index out of bounds at this point of the next loop."""
        f = self.function
        flat, axes = f.integer(0), [*place.axes(), index]
        for depth in range(self.form.rank):
            extent = self.extents[depth - 1] if depth else f.integer(1)
            flat = flat * extent
            flat = flat + axes[depth] if depth < len(axes) else flat
        return (flat & ((1 << 48) - 1)) | status(OUT_OF_BOUNDS)

    def failure(self, place: _LoopLevel, bad: Value) -> Value:
        """The status of an index out of bounds at the first point under ``bad``."""
        f = self.function
        flat = f.integer(0)
        for depth, index in enumerate(place.axes()):
            extent = self.extents[depth - 1] if depth else f.integer(1)
            differs = depth == self.axis and bad.type.lanes > 1
            lane = f.first_lane(bad) if differs else f.integer(0)
            flat = flat * extent + (index + lane)
        return (flat & ((1 << 48) - 1)) | status(OUT_OF_BOUNDS)


class _LoopLevel:
    """The body of one loop: the values computed in it, and those of the outer loops.

    ``index`` is the loop's index (of lane 0). Indices have one lane; values that depend
    on the vectorised axis have ``lanes``, of which those under ``mask`` are active.
    """

    def __init__(
        self,
        writer: NestWriter,
        outer: _LoopLevel | None,
        index: Value | None,
        lanes: int,
        mask: Value | None,
    ) -> None:
        self.writer, self.outer, self.index = writer, outer, index
        self.lanes, self.mask = lanes, mask
        self.level: int = outer.level + 1 if outer else 0
        self.function = writer.function
        self._values: dict[tuple[Expr, str, int], Value] = {}
        self._partials: dict[Access, tuple[Value, Value]] = {}

    def axes(self) -> list[Value]:
        """The indices of the loops so far, outermost first."""
        outer = self.outer.axes() if self.outer else []
        return outer if self.index is None else [*outer, self.index]

    # ------------------------------------------------------------------ values

    def prepare_all(self) -> None:
        """Compute the values that inner loops need and that are invariant in them."""
        writer = self.writer
        if self.level == writer.form.rank:
            return
        for e in writer.levels.hoisted[self.level]:
            follows = writer.levels.follows(e, writer.axis)
            if not follows or e in writer.values:
                self.value(e, None, self.lanes if follows else 1)
        for operand, index in writer.levels.hoisted_accesses[self.level]:
            self._partial(operand, index, None)

    def value(self, e: Expr, guard: Value | None, lanes: int) -> Value:
        """The value of ``e`` where ``guard`` holds; undefined elsewhere."""
        f = self.function
        if e.op == "const":
            return constant(f, e.attr, e.dtype, lanes)
        guard = guard if self.writer.levels.is_guarded(e) else None
        if lanes > 1 and not self.writer.levels.follows(e, self.writer.axis):
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
        active = self._active(guard, guard.type.lanes)
        return self.function.any_lane(guard if active is None else active)

    def _lookup(self, key: tuple[Expr, str, int]) -> Value | None:
        place: _LoopLevel | None = self
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
            dtype = self.writer.kernel.params[parameter_number(e)]
            params = self.writer.entry.params
            return parameter_value(f, params, parameter_number(e), dtype)
        if e.op in LOADS:
            return self._load(e, guard, lanes)
        if e.op == "select":
            return self._select(e, guard, lanes)
        args = [self.value(arg, guard, lanes) for arg in e.args]
        if e.op == "checked":
            failure = f.integer(status(REQUIREMENT_FAILED, e.attr))
            self._leave(args[1], self._active(guard, lanes), lambda _: failure)
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
        f, levels = self.function, self.writer.levels
        proved = self.writer.proved
        guarded = any(levels.is_guarded(e) for e in index)
        known: _LoopLevel | None = None if guarded else self
        while known is not None and (operand, index) not in known._partials:
            known = known.outer
        place, inside = self.writer.pointers[operand], f.constant(True, I1)
        if known is not None:
            place, inside = known._partials[operand, index]
        first = -1 if known is None else known.level
        moving = moving_dimensions(levels, index, self.writer.axis)
        scattered = bool(moving) and self.writer.lane_steps(operand, index) is None
        for dimension, e in enumerate(index):
            if not first < levels.level(e) <= self.level:
                continue
            if scattered and dimension in moving:
                continue
            value = self.value(e, guard, 1)
            place = f.offset(place, value * self.writer.strides[operand][dimension])
            known_inside = (operand, dimension) in proved or (
                (operand, index, dimension) in self.writer.in_range
            )
            if dimension not in moving and not known_inside:
                size = self.writer.shapes[operand][dimension]
                inside = inside & f.compare("ult", value, size)
        if not guarded:
            self._partials[operand, index] = place, inside
        return place, inside

    def address(
        self, operand: int, index: Sequence[Expr], guard: Value | None, lanes: int
    ) -> tuple[Value, Value]:
        """The address of lane 0's element, and the lanes that are in bounds."""
        f, levels = self.function, self.writer.levels
        place, inside = self._partial(operand, tuple(index), self._anywhere(guard))
        if lanes == 1:
            return place, inside
        inside = f.splat(inside, lanes)
        moving = moving_dimensions(levels, index, self.writer.axis)
        steps = self.writer.lane_steps(operand, tuple(index)) if moving else ()
        for dimension in moving:
            if (operand, dimension) in self.writer.proved:
                continue
            size = self.writer.shapes[operand][dimension]
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
        index = numbers * self.writer.element_steps[step] + first
        return f.compare("ult", index, size)

    # ------------------------------------------------------------------ memory

    def _active(self, guard: Value | None, lanes: int) -> Value | None:
        """The active lanes: under the guard, and before the loop's end."""
        if self.mask is None or lanes == 1:
            return guard
        return self.mask if guard is None else self.mask & guard

    def _load(self, e: Expr, guard: Value | None, lanes: int) -> Value:
        f, entry = self.function, self.writer.entry
        place, inside = self.address(e.attr, load_index(e), guard, lanes)
        dtype, fill = entry.dtypes[e.attr], load_fill(e)
        active = self._active(guard, lanes)
        checks = self.writer.checks(e.attr)
        if fill is None and checks:
            if guard is None and not self._differs_by_lane(e):
                _, inside_all = self._partial(e.attr, load_index(e), None)
                self._require(inside_all, None)
            else:
                self._require(inside, active)
        if fill is None and guard is None:
            if active is None:
                return load_run(f, entry.target, place, dtype, 1)
            return self._read(e, place, active, guard, lanes)
        readable = inside if active is None else inside & active
        value = self._read(e, place, readable, guard, lanes)
        if fill is None:
            return value
        return f.select(inside, value, self.value(fill, guard, lanes))

    def _differs_by_lane(self, e: Expr) -> bool:
        """Whether a checked index differs between lanes."""
        writer, index = self.writer, load_index(e)
        moving = moving_dimensions(writer.levels, index, writer.axis)
        return any((e.attr, dimension) not in writer.proved for dimension in moving)

    def _require(self, inside: Value, active: Value | None) -> None:
        """Return from the kernel if an active lane is out of bounds."""
        self._leave(inside, active, lambda bad: self.writer.failure(self, bad))

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
        f, writer, index = self.function, self.writer, load_index(e)
        dtype = writer.entry.dtypes[e.attr]
        if lanes > 1 and writer.lane_steps(e.attr, index) is None:
            offsets = f.constant(0, I64.with_lanes(lanes))
            for d in moving_dimensions(writer.levels, index, writer.axis):
                each = self.value(index[d], guard, lanes)
                offsets = offsets + each * writer.strides[e.attr][d]
            return load_scattered(f, place, offsets, readable, dtype)
        if lanes > 1:
            step = writer.steps[e.attr, index]
            return load_lanes(f, place, step, readable, dtype)
        safe = f.select(readable, place, writer.dummy)
        return from_memory(f, f.load(safe, memory_type(dtype)), dtype)

    def write_stores(self) -> None:
        """Write every store of the nest at this point, or vector of points."""
        for item in self.writer.stores:
            self._store(item)

    def open_element(self) -> tuple[list[Value], list[Value]]:
        """The address of the inner loops' element in each output, and the initial
        accumulator.
        """
        (item,) = self.writer.stores
        mask = self._active(None, self.lanes)
        places = []
        for output in self.writer.outputs:
            place, inside = self.address(output, item.index, None, self.lanes)
            if self.writer.checks(output):
                self._require(inside, mask)
            places.append(place)
        f, form = self.function, self.writer.form
        if form.begins:
            dtype = self.writer.kernel.outputs[0]
            start = identity(form.combine, dtype)
            return places, [constant(f, start, dtype, self.lanes)]
        if self.writer.first_payload is None:
            return places, [self._current(places[0], mask)]
        dtype = item.value.dtype
        start = identity(form.combine, dtype)
        held = f.constant(start, register_type(dtype, self.lanes))
        return places, [held, self.value(self.writer.first_payload, None, self.lanes)]

    def close_element(
        self, places: Sequence[Value], accumulator: Sequence[Value]
    ) -> None:
        """Store the inner loops' accumulator; of an argmax, the payload is first."""
        mask = self._active(None, self.lanes)
        dtypes = self.writer.kernel.outputs
        found = accumulator[::-1][: len(places)]
        for value, place, dtype in zip(found, places, dtypes, strict=True):
            self._write(value, place, mask, dtype)

    def combined(self, accumulator: Sequence[Value]) -> list[Value]:
        """The accumulator with this point's value."""
        (item,) = self.writer.stores
        lanes = accumulator[0].type.lanes
        value = self.value(item.value, None, lanes)
        if self.writer.payload is None:
            return [self._combine(accumulator[0], value, self.writer.kernel.outputs[0])]
        payload = self.value(self.writer.payload, None, lanes)
        held, chosen = accumulator
        wins = self._wins(item.value.dtype, value, held)
        chosen = self.function.select(wins, payload, chosen)
        if self.writer.gives_best:  # the same values as in a max without payloads
            return [self._combine(held, value, item.value.dtype), chosen]
        return [self.function.select(wins, value, held), chosen]

    def _wins(self, dtype: str, value: Value, held: Value) -> Value:
        """Whether a value replaces the held one: NaN replaces any number."""
        f = self.function
        relation = "gt" if self.writer.form.combine == "argmax" else "lt"
        if is_real_float(dtype):
            better = f.compare(f"u{relation}", value, held)
            return better & f.compare("ord", held, held)
        unsigned = is_unsigned(dtype) or dtype == "bool"
        return f.compare(f"u{relation}" if unsigned else relation, value, held)

    def _store(self, item: Store) -> None:
        f, writer, lanes = self.function, self.writer, self.lanes
        value = self.value(item.value, None, lanes)
        place, inside = self.address(writer.output, item.index, None, lanes)
        if item.drop:
            mask = self._active(inside, lanes)
            assert mask is not None
            if lanes == 1:
                f.branch(mask, lambda: self._put(value, place, None))
            else:
                self._put(value, place, mask)
            return
        if writer.checks(writer.output):
            self._require(inside, self._active(None, lanes))
        self._put(value, place, self._active(None, lanes))

    def _current(self, place: Value, mask: Value | None) -> Value:
        f, dtype = self.function, self.writer.kernel.outputs[0]
        raw = memory_type(dtype, self.lanes)
        if mask is None:
            return from_memory(f, f.load(place, raw), dtype)
        return from_memory(f, f.masked_load(place, mask, f.constant(0, raw)), dtype)

    def _combine(self, old: Value, value: Value, dtype: str) -> Value:
        lower = LOWERINGS[COMBINING_OPS[self.writer.form.combine.removeprefix("arg")]]
        combined: Value = lower(self.function, dtype, old, value)
        return combined

    def _put(self, value: Value, place: Value, mask: Value | None) -> None:
        """Combine the value with the stored one, under the mask."""
        dtype = self.writer.kernel.outputs[0]
        if self.writer.form.combine != "assign":
            value = self._combine(self._current(place, mask), value, dtype)
        self._write(value, place, mask, dtype)

    def _write(
        self, value: Value, place: Value, mask: Value | None, dtype: str
    ) -> None:
        f = self.function
        if mask is None:
            store_run(f, self.writer.entry.target, value, place, dtype)
        else:
            raw = to_memory(f, value, dtype)
            store_under(f, raw, place, mask)


def _start_along(levels: Levels, e: Expr, depth: int) -> Expr | None:
    """The index ``e`` at the first point of the loop of this depth, if it grows by one
    per point; else None.
    """
    if e.op != "add":
        return None
    for start, moving in (e.args, e.args[::-1]):
        if moving is axis(depth) and levels.level(start) <= depth:
            return start
    return None


def emit_nest(
    module: Module, kernel: Kernel, form: Nest, target: Target, *, checked: bool
) -> None:
    """Write the kernel's function into ``module``."""
    roots = [e for s in form.stores for e in s.exprs]
    check_kernel(kernel, roots)
    entry = open_kernel(module, kernel, target)
    f = entry.function

    def write(order: Sequence[int]) -> None:
        NestWriter(entry, in_order(form, order), order, checked).write()

    if form.channels_last_order:
        width = memory_type(kernel.outputs[0]).element_bytes
        last = entry.stride(form.operand_ranks[0] - 1)
        is_channels_last = entry.stride(1).equals(width) & last.differs(width)
        f.branch(
            is_channels_last,
            lambda: write(form.channels_last_order),
            lambda: write(range(form.rank)),
        )
    else:
        write(range(form.rank))
    f.ret(f.integer(0))
