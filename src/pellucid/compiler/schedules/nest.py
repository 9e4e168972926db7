"""The schedule of ``nest``: any loop nest, with computed and checked indices.

Every expression is computed in the outermost loop it can be (``_Place``). The innermost
loop runs in vectors if each load and store that follows its axis does so with step one
in one dimension, and those dimensions are dense at run time; else point by point.
Called by ``generate.py``. Read next: ``indices.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid.compiler.builder import I64, Module, Value
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
    Levels,
    lane_dimension,
    vector_dimensions,
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
        varying = [e.dtype for e in self.levels.innermost_values(self.stores)]
        self.vector_lanes = target.vector_bits // widest_bits([out, *varying])
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
        dimensions = vector_dimensions(self.levels, self.stores, self.output)
        if dimensions is None or not self._has_masks(dimensions):
            self._loops(1)
        else:
            dense = f.constant(True, I64.with_element("i1"))
            for operand, dimension in sorted(dimensions):
                width = memory_type(self.entry.dtypes[operand]).element_bytes
                dense = dense & self.strides[operand][dimension].equals(width)
            lanes = self.vector_lanes
            f.branch(dense, lambda: self._loops(lanes), lambda: self._loops(1))
        f.ret(f.integer(0))

    def _has_masks(self, dimensions: set[tuple[int, int]]) -> bool:
        target, dtypes = self.entry.target, self.entry.dtypes
        return all(has_masked_access(target, dtypes[k]) for k, _ in dimensions)

    def _loops(self, lanes: int) -> None:
        self._loop(_Place(self, None, 0, None, 1), lanes)

    def _loop(self, place: _Place, lanes: int) -> None:
        """The loops from the place's level inwards, then the stores."""
        place.prepare_all()
        depth, rank = place.level, self.form.rank
        if depth == rank:
            place.write_stores(None)
            return
        outermost = depth == 0
        start = self.begin if outermost else self.function.integer(0)
        stop = self.end if outermost else self.extents[depth - 1]
        innermost = depth == rank - 1
        step = lanes if innermost else 1

        def body(index: Value, _: list[Value]) -> None:
            inside = _Place(self, place, depth + 1, index, step)
            if innermost and lanes > 1:
                inside.prepare_all()
                inside.write_stores(self.function.minimum(stop - index, lanes))
            else:
                self._loop(inside, lanes)

        self.function.loop(start, stop, step, [], body)

    def failure(self, place: _Place, bad: Value) -> Value:
        """The status of an index out of bounds at the first point under ``bad``."""
        f = self.function
        flat = f.integer(0)
        for depth, index in enumerate(place.axes()):
            extent = self.extents[depth - 1] if depth else f.integer(1)
            flat = flat * extent + index
        flat = flat + f.first_lane(bad)
        return (flat & ((1 << 48) - 1)) | status(OUT_OF_BOUNDS)


class _Place:
    """The inside of one loop: values computed here, and those of the loops around.

    ``index`` is the loop's index (of lane 0). Values have one lane, but in an innermost
    loop of several lanes, where indices have one and the rest has ``lanes``.
    """

    def __init__(
        self,
        writer: NestWriter,
        outer: _Place | None,
        level: int,
        index: Value | None,
        lanes: int,
    ) -> None:
        self.writer, self.outer, self.level, self.index = writer, outer, level, index
        self.lanes = lanes
        self.function = writer.function
        self._values: dict[tuple[Expr, str, int], Value] = {}
        self._terms: dict[tuple[int, int, Expr, str], tuple[Value, Value]] = {}
        self.left: Value | None = None

    def axes(self) -> list[Value]:
        """The indices of the loops so far, outermost first."""
        outer = self.outer.axes() if self.outer else []
        return outer if self.index is None else [*outer, self.index]

    # ------------------------------------------------------------------ values

    def prepare_all(self) -> None:
        """Compute here whatever the loops inside need and this loop knows."""
        for e in self.writer.levels.hoisted[self.level]:
            if self.level < self.writer.form.rank:
                self.value(e, None, 1)
        for operand, dimension, e in self.writer.levels.hoisted_indices[self.level]:
            if self.level < self.writer.form.rank:
                self.term(operand, dimension, e, None)

    def value(self, e: Expr, guard: Value | None, lanes: int) -> Value:
        """The value of ``e`` where ``guard`` holds; what it is elsewhere is open."""
        f = self.function
        if e.op == "const":
            return f.constant(e.attr, register_type(e.dtype, lanes))
        guard = guard if self.writer.levels.is_guarded(e) else None
        if lanes > 1 and self.writer.levels.level(e) < self.level:
            return f.splat(self.value(e, self._anywhere(guard), 1), lanes)
        key = (e, "" if guard is None else guard.text, lanes)
        found = self._lookup(key)
        if found is None:
            found = self._values[key] = self._compute(e, guard, lanes)
        return found

    def _anywhere(self, guard: Value | None) -> Value | None:
        """Whether the guard holds in any lane."""
        return None if guard is None else self.function.any_lane(guard)

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

    def term(
        self, operand: int, dimension: int, e: Expr, guard: Value | None
    ) -> tuple[Value, Value]:
        """An index's share of the address in bytes, and whether it is inside."""
        guard = guard if self.writer.levels.is_guarded(e) else None
        key = (operand, dimension, e, "" if guard is None else guard.text)
        place: _Place | None = self
        while place is not None:
            if key in place._terms:
                return place._terms[key]
            place = place.outer
        index = self.value(e, guard, 1)
        size = self.writer.shapes[operand][dimension]
        share = index * self.writer.strides[operand][dimension]
        inside = self.function.compare("ult", index, size)
        self._terms[key] = share, inside
        return share, inside

    def address(
        self, operand: int, index: Sequence[Expr], guard: Value | None, lanes: int
    ) -> tuple[Value, Value]:
        """Where an element is (lane 0's), and which lanes are inside."""
        f, levels = self.function, self.writer.levels
        moving = lane_dimension(levels, index) if lanes > 1 else None
        place = self.writer.pointers[operand]
        inside = f.constant(True, I64.with_element("i1"))
        order = sorted(range(len(index)), key=lambda d: levels.level(index[d]))
        one_guard = self._anywhere(guard)
        for dimension in order:
            share, fits = self.term(operand, dimension, index[dimension], one_guard)
            place = f.offset(place, share)
            if dimension != moving:
                inside = inside & fits
        if lanes == 1:
            return place, inside
        inside = f.splat(inside, lanes)
        if moving is not None:
            inside = inside & self._lanes_inside(operand, moving, index[moving], lanes)
        return place, inside

    def _lanes_inside(self, operand: int, dimension: int, e: Expr, lanes: int) -> Value:
        """The lanes whose index, ``e`` plus the lane's number, is inside."""
        f = self.function
        first = self.value(e, None, 1)
        size = self.writer.shapes[operand][dimension]
        low = f.minimum(f.maximum(0 - first, 0), lanes)
        high = f.minimum(f.maximum(size - first, 0), lanes)
        return f.first_lanes(high, lanes) & ~f.first_lanes(low, lanes)

    # ------------------------------------------------------------------ memory

    def _active(self, guard: Value | None, lanes: int) -> Value | None:
        """The lanes that count: under the guard, and before the loop's end."""
        if self.left is None or lanes == 1:
            return guard
        mask = self.function.first_lanes(self.left, lanes)
        return mask if guard is None else mask & guard

    def _load(self, e: Expr, guard: Value | None, lanes: int) -> Value:
        f, entry = self.function, self.writer.entry
        place, inside = self.address(e.attr, load_index(e), guard, lanes)
        dtype, fill = entry.dtypes[e.attr], load_fill(e)
        active = self._active(guard, lanes)
        if fill is None and not self.writer.checks and guard is None:
            if lanes == 1:
                return load_run(f, entry.target, place, dtype, 1)
            return load_run(f, entry.target, place, dtype, lanes, self.left)
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

    def write_stores(self, left: Value | None) -> None:
        """Every store of the nest at this point, or at ``left`` points from here."""
        self.left = left
        for item in self.writer.stores:
            self._store(item)

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

    def _put(self, value: Value, place: Value, mask: Value | None) -> None:
        """Combine the value with what is there, under the mask."""
        f, dtype = self.function, self.writer.kernel.outputs[0]
        if self.writer.form.combine != "assign":
            raw = memory_type(dtype, self.lanes)
            zeros = f.constant(0, raw)
            old = (
                f.load(place, raw)
                if mask is None
                else f.masked_load(place, mask, zeros)
            )
            lower = LOWERINGS[_STEP[self.writer.form.combine]]
            value = lower(f, dtype, from_memory(f, old, dtype), value)
            value = convert(f, value, _wide(dtype), dtype)
        if mask is None:
            store_run(f, self.writer.entry.target, value, place, dtype)
        else:
            f.masked_store(to_memory(f, value, dtype), place, mask)


def _wide(dtype: str) -> str:
    return "float32" if dtype in ("float16", "bfloat16") else dtype


def emit_nest(
    module: Module, kernel: Kernel, form: Nest, target: Target, *, checked: bool
) -> None:
    """Write the kernel's function into ``module``."""
    roots = [e for s in form.stores for e in (*s.index, s.value)]
    check_kernel(kernel, roots)
    NestWriter(module, kernel, form, target, checked).write()
