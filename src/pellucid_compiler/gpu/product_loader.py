"""The tiles of a product's factors: from memory, with any strides, to shared memory.

A tile has lines (rows of the first factor, columns of the second), each with the same
places along the sum. Lines and places may run over several axes, so a factor may be
the windows of an image, which are never stored: where a line or a place is comes from
a small table in shared memory. Tiles go by asynchronous copies of 16 bytes where the
strides allow it, else element by element. Where a factor is read beyond its ends, as an
image is by a convolution with a border, every element's index is checked (``Guard``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pellucid_compiler.codegen.builder import I64, Value
from pellucid_compiler.codegen.formats import convert, memory_type, to_memory
from pellucid_compiler.gpu.builder import THREADS
from pellucid_compiler.gpu.grid import Grid

CHUNK = 16
"""The bytes of the widest copy; lines in shared memory are apart by as many more than
their size, so that neighbours are in different banks."""


# Elements that a thread loads at a time, as they are and converted.
_TOGETHER = 4
_CONVERTED_TOGETHER = 2


@dataclass(frozen=True)
class Layout:
    """A tile in shared memory, of elements of ``item`` bytes: line after line, or if
    ``place_major`` place after place."""

    lines: int
    depth: int
    item: int
    place_major: bool

    @property
    def pitch(self) -> int:
        """The bytes from a line, or a place, to the next."""
        return (self.lines if self.place_major else self.depth) * self.item + CHUNK

    @property
    def num_bytes(self) -> int:
        return self.pitch * (self.depth if self.place_major else self.lines)

    def offset(self, line: Value, place: Value) -> Value:
        """Where an element is."""
        outer, inner = (place, line) if self.place_major else (line, place)
        return outer * self.pitch + inner * self.item


class Guard(NamedTuple):
    """A dim in which a factor is read beyond its ends: the operand, and which of its
    guards."""

    operand: int
    number: int

    def name(self, g: Grid) -> str:
        """As the kernel's arguments have it."""
        return f"{g.order[self.operand]}_{self.number}"


def guards_of(g: Grid, factor: int) -> list[Guard]:
    """The guards of factor 0 or 1."""
    return [Guard(factor, number) for number in range(g.shape.guards_of(factor))]


class Places:
    """How far points of some axes are from the first one in the operands, by number,
    and in the dims that have guards.

    One axis is a multiplication; several are a table of ``count`` points, which
    ``write`` fills: ``parts`` of them in turn, so that one is read while the next is
    written.
    """

    def __init__(
        self,
        g: Grid,
        axes: Sequence[int],
        operands: Sequence[int | Guard],
        count: int,
        parts: int,
    ) -> None:
        self.g, self.axes, self.operands, self.count = g, axes, operands, count
        self.table = None
        if len(axes) > 1:
            self.table = g.function.shared(parts * len(operands) * count * 8)

    def stride(self, operand: int | Guard, axis: int) -> Value:
        if isinstance(operand, Guard):
            return self.g.named[f"w{operand.name(self.g)}_{axis}"]
        return self.g.named[f"t{self.g.order[operand]}_{axis}"]

    def computed(self, operand: int | Guard, point: Value) -> Value:
        """The bytes, or indices, from the first point."""
        found = self.g.function.integer(0)
        for axis, place in self._coordinates(point).items():
            found = found + place * self.stride(operand, axis)
        return found

    def _coordinates(self, point: Value) -> dict[int, Value]:
        """The place along each axis, by divisions of 32 bits, which take few registers:
        of several axes there are fewer than 2**31 points (runtime/cuda/grid_launch.h).
        """
        f, found = self.g.function, {}
        if len(self.axes) < 2:
            return dict.fromkeys(self.axes, point)
        left = f.convert("trunc", point, "i32")
        for axis in reversed(self.axes[1:]):
            extent = f.convert("trunc", self.g.named[f"e{axis}"], "i32")
            found[axis] = f.convert("zext", f.binary("urem", left, extent), "i64")
            left = f.binary("udiv", left, extent)
        found[self.axes[0]] = f.convert("zext", left, "i64")
        return found

    def _slot(self, operand: int | Guard, number: Value, part: Value) -> Value:
        assert self.table is not None
        row = part * len(self.operands) + self.operands.index(operand)
        return self.g.function.offset(self.table, (row * self.count + number) * 8)

    def write(self, first: Value, part: Value) -> None:
        """The table's points from ``first`` on, by as many threads."""
        if self.table is None:
            return
        f = self.g.function
        thread = f.thread()

        def fill() -> None:
            for operand in self.operands:
                far = self.computed(operand, first + thread)
                f.write_shared(far, self._slot(operand, thread, part))

        f.branch((thread < self.count) & (self.g.count(self.axes) > 0), fill)

    def read(
        self, operand: int | Guard, first: Value, number: Value, part: Value
    ) -> Value:
        """The bytes, or indices, from the first point to point ``first + number``."""
        if self.table is None:
            return self.computed(operand, first + number)
        return self.g.function.read_shared(self._slot(operand, number, part), I64)


@dataclass(frozen=True)
class Origin:
    """What a tile is loaded from: the factor's address in its batch, the first line and
    place, the part of the table of places, and in each dim with a guard the index of
    the batch's first point."""

    start: Value
    line: Value
    place: Value
    part: Value
    indices: Sequence[Value] = ()


class Loader:
    """The tiles of one factor. ``layouts``: by whether elements are neighbours along
    the sum, the layout of the tile in shared memory, which has dtype ``kept``."""

    def __init__(
        self,
        g: Grid,
        operand: int,
        lines: Places,
        places: Places,
        layouts: tuple[Layout, Layout],
        kept: str,
    ) -> None:
        self.g, self.function, self.operand = g, g.function, operand
        self.lines, self.places = lines, places
        self.across, self.along = layouts
        self.kept = kept
        self.num_lines = g.count(lines.axes)
        self.num_places = g.count(places.axes)
        self.is_raw = memory_type(g.memory[operand]) == memory_type(kept) and (
            g.memory[operand] == g.dtypes[operand] == kept
        )
        self.is_along = self._has_neighbours(places)
        self.guards = guards_of(g, operand)
        may_be_wide = self.is_raw and not self.guards
        self.wide_along, self.wide_across = (
            self._takes_chunks(axes) if may_be_wide and fits else None
            for axes, fits in (
                (places, not self.along.place_major),
                (lines, self.across.place_major),
            )
        )

    @property
    def num_bytes(self) -> int:
        """Of a tile in shared memory."""
        return max(self.along.num_bytes, self.across.num_bytes)

    def load(self, origin: Origin, stage: Value) -> None:
        """Begins to load a tile to ``stage``; elements beyond the factor are zeros."""

        def way(
            is_wide: Value | None,
            chunks: Callable[..., None],
            others: Callable[..., None],
        ) -> None:
            if is_wide is None:
                others(origin, stage)
            else:
                self.function.branch(
                    is_wide,
                    lambda: chunks(origin, stage),
                    lambda: others(origin, stage),
                )

        self.function.branch(
            self.is_along,
            lambda: way(self.wide_along, self._chunks_along, self._along),
            lambda: way(self.wide_across, self._chunks_across, self._across),
        )

    # ------------------------------------------------------------------ what is wide

    def _has_neighbours(self, places: Places) -> Value:
        """Whether elements along the last axis are next to each other in memory."""
        if not places.axes:
            return self.function.integer(0).differs(0)
        step = places.stride(self.operand, places.axes[-1])
        return step.equals(self._item())

    def _item(self) -> int:
        return memory_type(self.g.memory[self.operand]).element_bytes

    def _takes_chunks(self, along: Places) -> Value:
        """Whether chunks along these axes are dense and aligned in memory."""
        g, f, item = self.g, self.function, self._item()
        strides = [along.stride(self.operand, axis) for axis in along.axes]
        extents = [g.named[f"e{axis}"] for axis in along.axes]
        every = set(range(g.shape.axes)) - set(along.axes)
        fixed = [along.stride(self.operand, axis) for axis in sorted(every)]
        whole = f.convert("ptrtoint", g.pointers[self.operand], "i64")
        for stride in fixed:
            whole = whole | stride
        is_run, inner = self._has_neighbours(along), f.integer(0)
        for k in range(len(strides) - 1):
            run = strides[k].equals(strides[k + 1] * extents[k + 1])
            is_run = is_run & run
            inner = inner | strides[k]
        aligned = (whole & (CHUNK - 1)).equals(0)
        if len(strides) < 2:
            return self._has_neighbours(along) & aligned
        apart = ((inner | extents[-1] * item) & (CHUNK - 1)).equals(0)
        return self._has_neighbours(along) & aligned & (is_run | apart)

    # ------------------------------------------------------------------ ways to load

    def _copy_chunks(
        self,
        origin: Origin,
        stage: Value,
        layout: Layout,
        length: int,
        lines_first: bool,
    ) -> None:
        """Chunks along the axis that has ``length`` elements in the tile."""
        f, item = self.function, layout.item
        per_chunk = CHUNK // item
        per_row = length // per_chunk
        rows_at_once = THREADS // per_row
        rows = layout.lines * layout.depth // length
        thread = f.thread()
        inner = (thread & (per_row - 1)) * per_chunk
        own = f.binary("lshr", thread, per_row.bit_length() - 1)

        def one(first: Value, _: list[Value]) -> None:
            outer = own + first
            line, place = (inner, outer) if lines_first else (outer, inner)
            left_lines = self.num_lines - origin.line - line
            left_places = self.num_places - origin.place - place
            left, other = (
                (left_lines, left_places) if lines_first else (left_places, left_lines)
            )
            used = f.maximum(f.minimum(left, per_chunk), 0) * item
            used = f.select(other > 0, used, 0)
            f.copy_async(
                f.offset(stage, layout.offset(line, place)),
                self._address(origin, line, place, used > 0),
                CHUNK,
                used,
            )

        f.loop(0, rows, rows_at_once, [], one, at_least_once=True, rolled=True)

    def _chunks_along(self, origin: Origin, stage: Value) -> None:
        self._copy_chunks(origin, stage, self.along, self.along.depth, False)

    def _chunks_across(self, origin: Origin, stage: Value) -> None:
        self._copy_chunks(origin, stage, self.across, self.across.lines, True)

    def _along(self, origin: Origin, stage: Value) -> None:
        """Neighbouring threads take neighbouring places."""
        self._copy_elements(origin, stage, self.along, lines_first=False)

    def _across(self, origin: Origin, stage: Value) -> None:
        """Neighbouring threads take neighbouring lines."""
        self._copy_elements(origin, stage, self.across, lines_first=True)

    def _copy_elements(
        self, origin: Origin, stage: Value, layout: Layout, *, lines_first: bool
    ) -> None:
        f, thread = self.function, self.function.thread()
        length = layout.lines if lines_first else layout.depth
        rows, at_once = layout.lines * layout.depth // length, THREADS // length
        inner = thread & (length - 1)
        outer = f.binary("lshr", thread, length.bit_length() - 1)
        count = _TOGETHER if self.is_raw else _CONVERTED_TOGETHER

        def some(first: Value, _: list[Value]) -> None:
            points = [outer + first + k * at_once for k in range(count)]
            self._copy_points(
                origin,
                stage,
                layout,
                [(inner, p) if lines_first else (p, inner) for p in points],
            )

        f.loop(0, rows, count * at_once, [], some, at_least_once=True, rolled=True)

    def _copy_points(
        self,
        origin: Origin,
        stage: Value,
        layout: Layout,
        points: Sequence[tuple[Value, Value]],
    ) -> None:
        """Reads all of them before the first is written."""
        f = self.function
        found = []
        for line, place in points:
            inside = (origin.line + line < self.num_lines) & (
                origin.place + place < self.num_places
            )
            inside = self._guarded(origin, line, place, inside)
            source = self._address(origin, line, place, inside)
            to = f.offset(stage, layout.offset(line, place))
            if self.is_raw and layout.item >= 4:
                used = f.select(inside, f.integer(layout.item), 0)
                f.copy_async(to, source, layout.item, used)
            else:
                found.append((self._loaded(source), inside, to))
        for value, inside, to in found:
            f.write_shared(f.select(inside, value, 0), to)

    def _guarded(
        self, origin: Origin, line: Value, place: Value, inside: Value
    ) -> Value:
        """``inside``, and not beyond the ends of the factor."""
        f, g = self.function, self.g
        for guard, first in zip(self.guards, origin.indices, strict=True):
            index = first + self.lines.read(guard, origin.line, line, f.integer(0))
            index = index + self.places.read(guard, origin.place, place, origin.part)
            inside = inside & (index >= 0) & (index < g.named[f"n{guard.name(g)}"])
        return inside

    def _address(
        self, origin: Origin, line: Value, place: Value, inside: Value
    ) -> Value:
        """Of an element, or of the factor's first one if it is not ``inside``."""
        f, k = self.function, self.operand
        far = self.lines.read(k, origin.line, line, f.integer(0))
        far = far + self.places.read(k, origin.place, place, origin.part)
        first = self.g.pointers[k] if self.guards else origin.start
        return f.select(inside, f.offset(origin.start, far), first)

    def _loaded(self, source: Value) -> Value:
        """An element as shared memory has it."""
        f, k, g = self.function, self.operand, self.g
        if self.is_raw:
            kind = memory_type(self.kept)
            f.touch(source, kind.element_bytes, "read_global")
            return f.load(source, kind)
        value = convert(f, g.load(k, source), g.dtypes[k], self.kept)
        return to_memory(f, value, self.kept)
