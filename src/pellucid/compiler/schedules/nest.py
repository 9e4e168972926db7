"""The schedule of ``nest``: any loop nest, with computed and checked indices.

Every expression is computed in the outermost loop it can be (``_Place``). One axis runs
in vectors if each load and store that follows it does so with step one in one dimension
and those dimensions are dense at run time; else all goes point by point. An element to
which inner loops only add stays in a register; its terms are added in the loops' order.
Called by ``generate.py``. Read next: ``indices.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.compiler.builder import I1, I64, Module, Value
from pellucid.compiler.emit import parameter_value
from pellucid.compiler.formats import (
    convert,
    from_memory,
    memory_type,
    register_type,
    to_memory,
    widest_bits,
)
from pellucid.compiler.kernel import Kernel, Nest, Store, check_kernel, parameter_number
from pellucid.compiler.lowerings import LOWERINGS
from pellucid.compiler.schedules.access import (
    Entry,
    has_masked_access,
    load_run,
    open_kernel,
    store_run,
)
from pellucid.compiler.schedules.indices import (
    Access,
    Levels,
    lane_dimension,
    value_nodes,
    vector_axis,
)
from pellucid.compiler.status import OUT_OF_BOUNDS, status
from pellucid.compiler.targets.x86 import Target
from pellucid.ir.expr import (
    LOADS,
    Expr,
    cast,
    load_fill,
    load_index,
    without_partials,
)

_STEP = {
    "sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "and": "and",
    "or": "or",
}  # fmt: skip


class NestWriter:
    """One kernel: its operands' shapes and strides, its loops, its stores."""

    def __init__(
        self, module: Module, kernel: Kernel, form: Nest, target: Target, checked: bool
    ) -> None:
        self.entry: Entry = open_kernel(module, kernel, target)
        self.function, self.kernel, self.form = self.entry.function, kernel, form
        self.checks = checked or not form.trusted
        out = kernel.outputs[0]
        self.stores = [
            Store(s.index, without_partials(cast(s.value, out)), s.drop)
            for s in form.stores
        ]
        roots = [e for s in self.stores for e in (*s.index, s.value)]
        places = [(len(kernel.inputs), s.index) for s in self.stores]
        self.levels = Levels(form.rank, roots, places)
        self.pointers = self.entry.pointers()
        self._read_layout()
        self.values = set(value_nodes(self.stores))
        self.axis: int | None = None
        last = max((self.levels.level(e) for e in self.stores[0].index), default=0)
        sums = form.combine != "assign" and len(self.stores) == 1
        self.accumulates = sums and not self.stores[0].drop and last < form.rank
        self.store_level = last
        self.dummy = self.function.stack(64 * 8)

    def _read_layout(self) -> None:
        """Extents, then shapes and strides by load number; the output comes last."""
        f, entry, form = self.function, self.entry, self.form
        self.begin, self.end = entry.size(0), entry.size(1)
        self.extents = [entry.size(2 + d) for d in range(form.rank - 1)]
        shapes, strides = [], []
        size, stride = 1 + max(form.rank, 1), 0
        for rank in form.operand_ranks:
            shapes.append([entry.size(size + d) for d in range(rank)])
            strides.append([entry.stride(stride + d) for d in range(rank)])
            size, stride = size + rank, stride + rank
        self.shapes, self.strides = shapes[1:] + shapes[:1], strides[1:] + strides[:1]
        for d in range(form.rank - 1):
            empty = self.extents[d] <= 0
            f.return_if(empty, lambda: f.integer(0))

    @property
    def output(self) -> int:
        """The output's number among shapes, strides and pointers."""
        return self.entry.num_inputs

    def write(self) -> None:
        f = self.function
        chosen = vector_axis(self.levels, self.stores, self.output)
        if chosen is None or not self._has_masks(chosen[1]):
            self._loops(None, 1)
        else:
            axis, dimensions = chosen
            dense = f.constant(True, I1)
            for operand, dimension in sorted(dimensions):
                width = memory_type(self.entry.dtypes[operand]).element_bytes
                dense = dense & self.strides[operand][dimension].equals(width)
            lanes = self._lanes(axis)
            f.branch(
                dense, lambda: self._loops(axis, lanes), lambda: self._loops(None, 1)
            )
        f.ret(f.integer(0))

    def _lanes(self, axis: int) -> int:
        """As many as the widest value that differs from lane to lane allows."""
        varying = [e.dtype for e in self.values if self.levels.follows(e, axis)]
        bits = widest_bits([self.kernel.outputs[0], *varying])
        return self.entry.target.vector_bits // bits

    def _has_masks(self, dimensions: set[tuple[int, int]]) -> bool:
        target, dtypes = self.entry.target, self.entry.dtypes
        return all(has_masked_access(target, dtypes[k]) for k, _ in dimensions)

    def _loops(self, axis: int | None, lanes: int) -> None:
        """All loops; those from ``axis`` inwards have vectors of ``lanes`` lanes."""
        self.axis = axis
        self._loop(_Place(self, None, None, 1, None), lanes, None)

    def _loop(
        self, place: _Place, lanes: int, accumulator: Value | None
    ) -> Value | None:
        """The loops from the place's level inwards, then the stores.

        An element that the inner loops only add to is kept in ``accumulator``."""
        f = self.function
        place.prepare_all()
        depth = place.level
        starts = self.accumulates and depth == self.store_level
        if starts:
            target, accumulator = place.open_element()
        if depth == self.form.rank:
            if accumulator is not None:
                return place.combined(accumulator)
            place.write_stores()
            return None
        start = self.begin if depth == 0 else f.integer(0)
        stop = self.end if depth == 0 else self.extents[depth - 1]
        turns = depth == self.axis

        def body(index: Value, carried: list[Value]) -> list[Value]:
            mask = place.mask
            if turns:
                mask = f.first_lanes(stop - index, lanes)
            width = lanes if turns else place.lanes
            inside = _Place(self, place, index, width, mask)
            result = self._loop(inside, lanes, carried[0] if carried else None)
            return [] if result is None else [result]

        carried = [] if accumulator is None else [accumulator]
        found = f.loop(start, stop, lanes if turns else 1, carried, body)
        if starts:
            place.close_element(target, found[0])
            return None
        return found[0] if found else None

    def failure(self, place: _Place, bad: Value) -> Value:
        """The status of an index out of bounds at the first point under ``bad``."""
        f = self.function
        flat = f.integer(0)
        for depth, index in enumerate(place.axes()):
            extent = self.extents[depth - 1] if depth else f.integer(1)
            lane = f.first_lane(bad) if depth == self.axis else f.integer(0)
            flat = flat * extent + (index + lane)
        return (flat & ((1 << 48) - 1)) | status(OUT_OF_BOUNDS)


class _Place:
    """The inside of one loop: values computed here, and those of the loops around.

    ``index`` is the loop's index (of lane 0). Indices have one lane; values that follow
    the vector axis have ``lanes``, of which those under ``mask`` count.
    """

    def __init__(
        self,
        writer: NestWriter,
        outer: _Place | None,
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
        """Compute here whatever the loops inside need and this loop knows."""
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
        """The value of ``e`` where ``guard`` holds; what it is elsewhere is open."""
        f = self.function
        if e.op == "const":
            return f.constant(e.attr, register_type(e.dtype, lanes))
        guard = guard if self.writer.levels.is_guarded(e) else None
        if lanes > 1 and not self.writer.levels.follows(e, self.writer.axis):
            return f.splat(self.value(e, self._anywhere(guard), 1), lanes)
        key = (e, "" if guard is None else guard.text, lanes)
        found = self._lookup(key)
        if found is None:
            found = self._values[key] = self._compute(e, guard, lanes)
        return found

    def _anywhere(self, guard: Value | None) -> Value | None:
        """Whether the guard holds in any lane that counts."""
        if guard is None:
            return None
        active = self._active(guard, guard.type.lanes)
        return self.function.any_lane(guard if active is None else active)

    def _lookup(self, key: tuple[Expr, str, int]) -> Value | None:
        place: _Place | None = self
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
        """The address and the checks by the indices known in this loop.

        It goes on from what the loops around have already; the index that moves along
        the lanes is checked elsewhere."""
        f, levels = self.function, self.writer.levels
        guarded = any(levels.is_guarded(e) for e in index)
        known: _Place | None = None if guarded else self
        while known is not None and (operand, index) not in known._partials:
            known = known.outer
        place, inside = self.writer.pointers[operand], f.constant(True, I1)
        if known is not None:
            place, inside = known._partials[operand, index]
        first = -1 if known is None else known.level
        moving = lane_dimension(levels, index, self.writer.axis)
        for dimension, e in enumerate(index):
            if not first < levels.level(e) <= self.level:
                continue
            value = self.value(e, guard, 1)
            place = f.offset(place, value * self.writer.strides[operand][dimension])
            if dimension != moving:
                size = self.writer.shapes[operand][dimension]
                inside = inside & f.compare("ult", value, size)
        if not guarded:
            self._partials[operand, index] = place, inside
        return place, inside

    def address(
        self, operand: int, index: Sequence[Expr], guard: Value | None, lanes: int
    ) -> tuple[Value, Value]:
        """Where an element is (lane 0's), and which lanes are inside."""
        f, levels = self.function, self.writer.levels
        place, inside = self._partial(operand, tuple(index), self._anywhere(guard))
        if lanes == 1:
            return place, inside
        inside = f.splat(inside, lanes)
        moving = lane_dimension(levels, index, self.writer.axis)
        if moving is not None:
            inside = inside & self._lanes_inside(operand, moving, index[moving], lanes)
        return place, inside

    def _lanes_inside(self, operand: int, dimension: int, e: Expr, lanes: int) -> Value:
        """The lanes whose index, ``e`` plus the lane's number, is inside."""
        f = self.function
        first = self.value(e, None, 1)
        size = self.writer.shapes[operand][dimension]
        before = f.first_lanes(f.maximum(0 - first, 0), lanes)
        return f.first_lanes(f.maximum(size - first, 0), lanes) & ~before

    # ------------------------------------------------------------------ memory

    def _active(self, guard: Value | None, lanes: int) -> Value | None:
        """The lanes that count: under the guard, and before the loop's end."""
        if self.mask is None or lanes == 1:
            return guard
        return self.mask if guard is None else self.mask & guard

    def _load(self, e: Expr, guard: Value | None, lanes: int) -> Value:
        f, entry = self.function, self.writer.entry
        place, inside = self.address(e.attr, load_index(e), guard, lanes)
        dtype, fill = entry.dtypes[e.attr], load_fill(e)
        active = self._active(guard, lanes)
        if fill is None and not self.writer.checks and guard is None:
            if active is None:
                return load_run(f, entry.target, place, dtype, 1)
            return self._read(place, active, dtype, lanes)
        if fill is None and self.writer.checks:
            self._require(inside, active)
        readable = inside if active is None else inside & active
        value = self._read(place, readable, dtype, lanes)
        if fill is None:
            return value
        return f.select(inside, value, self.value(fill, guard, lanes))

    def _require(self, inside: Value, active: Value | None) -> None:
        """Leave the kernel if a lane that counts is outside."""
        f = self.function
        bad = ~inside if active is None else ~inside & active
        f.return_if(f.any_lane(bad), lambda: self.writer.failure(self, bad))

    def _read(self, place: Value, readable: Value, dtype: str, lanes: int) -> Value:
        """The elements under ``readable``; the others are not touched."""
        f, raw = self.function, memory_type(dtype, lanes)
        if lanes == 1:
            safe = f.select(readable, place, self.writer.dummy)
            return from_memory(f, f.load(safe, raw), dtype)
        value = f.masked_load(place, readable, f.constant(0, raw))
        return from_memory(f, value, dtype)

    def write_stores(self) -> None:
        """Every store of the nest at this point, or these points."""
        for item in self.writer.stores:
            self._store(item)

    def open_element(self) -> tuple[Value, Value]:
        """Where the inner loops' element is, and what it holds so far."""
        (item,) = self.writer.stores
        place, inside = self.address(self.writer.output, item.index, None, self.lanes)
        mask = self._active(None, self.lanes)
        if self.writer.checks:
            self._require(inside, mask)
        return place, self._current(place, mask)

    def close_element(self, place: Value, total: Value) -> None:
        self._write(total, place, self._active(None, self.lanes))

    def combined(self, accumulator: Value) -> Value:
        """The accumulator with this point's value."""
        (item,) = self.writer.stores
        value = self.value(item.value, None, accumulator.type.lanes)
        return self._combine(accumulator, value)

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
        if writer.checks:
            self._require(inside, self._active(None, lanes))
        self._put(value, place, self._active(None, lanes))

    def _current(self, place: Value, mask: Value | None) -> Value:
        f, dtype = self.function, self.writer.kernel.outputs[0]
        raw = memory_type(dtype, self.lanes)
        if mask is None:
            return from_memory(f, f.load(place, raw), dtype)
        return from_memory(f, f.masked_load(place, mask, f.constant(0, raw)), dtype)

    def _combine(self, old: Value, value: Value) -> Value:
        lower = LOWERINGS[_STEP[self.writer.form.combine]]
        combined: Value = lower(
            self.function, self.writer.kernel.outputs[0], old, value
        )
        return combined

    def _put(self, value: Value, place: Value, mask: Value | None) -> None:
        """Combine the value with what is there, under the mask."""
        if self.writer.form.combine != "assign":
            value = self._combine(self._current(place, mask), value)
        self._write(value, place, mask)

    def _write(self, value: Value, place: Value, mask: Value | None) -> None:
        f, dtype = self.function, self.writer.kernel.outputs[0]
        if mask is None:
            store_run(f, self.writer.entry.target, value, place, dtype)
        else:
            f.masked_store(to_memory(f, value, dtype), place, mask)


def emit_nest(
    module: Module, kernel: Kernel, form: Nest, target: Target, *, checked: bool
) -> None:
    """Write the kernel's function into ``module``."""
    roots = [e for s in form.stores for e in (*s.index, s.value)]
    check_kernel(kernel, roots)
    NestWriter(module, kernel, form, target, checked).write()
