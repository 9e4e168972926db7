"""How a block's threads share a tile of a product, and what each adds up.

``FmaTile``: each thread has 4 by 4 results and adds products one after the other, with
the dtype's own arithmetic. ``MatrixTile``: each warp has 64 by 32 results, and adds
products of matrices, whose sums a GPU rounds in its own way.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.formats import memory_type, register_type
from pellucid_compiler.gpu.builder import MATRIX_SUMS, GpuFunction
from pellucid_compiler.gpu.product_loader import Layout

_PART = 4  # rows and columns of a thread's results
_PLACES = 2  # of the sum in an iteration of the loop over a tile
_LINES = 32  # of a factor, whose words a warp has at a time


class FmaTile:
    """64 by 64 results of a dtype, 16 places of the sum at a time."""

    rows, columns, depth = 64, 64, 16

    def __init__(self, f: GpuFunction, dtype: str) -> None:
        self.function, self.kept, self.kind = f, dtype, register_type(dtype)
        item = self.kind.element_bytes
        self.layouts = (
            (Layout(self.rows, self.depth, item, True),) * 2,
            (Layout(self.columns, self.depth, item, True),) * 2,
        )
        thread = f.thread()
        self._row = f.binary("lshr", thread, 4) * _PART
        self._column = (thread & 15) * _PART

    def points(self) -> tuple[list[Value], list[Value]]:
        """The rows and the columns of this thread's results."""
        return (
            [self._row + k for k in range(_PART)],
            [self._column + k for k in range(_PART)],
        )

    def zeros(self) -> list[Value]:
        return [self.function.constant(0, self.kind)] * _PART**2

    def sum_at(self, sums: Sequence[Value], row: int, column: int) -> Value:
        """The result at a row and a column of ``points``."""
        return sums[row * _PART + column]

    def add(
        self, stages: Sequence[Value], along: Sequence[Value], sums: Sequence[Value]
    ) -> list[Value]:
        """The sums with the products of two tiles, in ascending order."""
        f = self.function

        def some(first: Value, carried: list[Value]) -> list[Value]:
            for k in range(_PLACES):
                carried = self._add_place(stages, first + k, carried)
            return carried

        return f.loop(
            0, self.depth, _PLACES, sums, some, at_least_once=True, rolled=True
        )

    def _add_place(
        self, stages: Sequence[Value], place: Value, sums: Sequence[Value]
    ) -> list[Value]:
        f, several = self.function, self.kind.with_lanes(_PART)
        x, y = (
            f.read_shared(f.offset(stage, layouts[0].offset(line, place)), several)
            for stage, layouts, line in zip(
                stages, self.layouts, (self._row, self._column), strict=True
            )
        )
        found = []
        for k, total in enumerate(sums):
            a, b = f.extract(x, k // _PART), f.extract(y, k % _PART)
            found.append(f.fma(a, b, total) if self.kind.is_float else a * b + total)
        return found


class MatrixTile:
    """128 by 128 results of 8 warps, 64 bytes of the sum at a time.

    ``load_matrices`` can exchange rows and columns of 16-bit elements, so their tiles
    may be place after place; those of bytes are line after line.
    """

    rows, columns = 128, 128
    _down, _across = 64, 32  # of a warp
    _step = 32  # bytes of the sum in one product of matrices

    def __init__(self, f: GpuFunction, dtype: str) -> None:
        self.function, self.kept = f, dtype
        item = memory_type(dtype).element_bytes
        self.depth = 2 * self._step // item
        self.layouts = (
            self._layouts(self.rows, item),
            self._layouts(self.columns, item),
        )
        thread = f.thread()
        warp, lane = f.binary("lshr", thread, 5), thread & 31
        self._row = f.binary("lshr", warp, 2) * self._down
        self._column = (warp & 3) * self._across
        self._group, self._place = f.binary("lshr", lane, 2), lane & 3
        self._eighth = lane & 7  # the line, or the place, of a matrix
        self._halves = f.binary("lshr", lane, 3) & 1, f.binary("lshr", lane, 4)

    def _layouts(self, lines: int, item: int) -> tuple[Layout, Layout]:
        along = Layout(lines, self.depth, item, False)
        return (Layout(lines, self.depth, item, True) if item == 2 else along), along

    def points(self) -> tuple[list[Value], list[Value]]:
        """The rows and the columns of this thread's results."""
        return (
            [self._row + self._group + 8 * k for k in range(self._down // 8)],
            [
                self._column + self._place * 2 + (8 * k + near)
                for k in range(self._across // 8)
                for near in range(2)
            ],
        )

    def zeros(self) -> list[Value]:
        count = self._down * self._across // 32
        return [self.function.constant(0, MATRIX_SUMS[self.kept])] * count

    def sum_at(self, sums: Sequence[Value], row: int, column: int) -> Value:
        """The result at a row and a column of ``points``."""
        matrix = row // 2 * (self._across // 8) + column // 2
        return sums[4 * matrix + row % 2 * 2 + column % 2]

    def add(
        self, stages: Sequence[Value], along: Sequence[Value], sums: Sequence[Value]
    ) -> list[Value]:
        """The sums with the products of two tiles, by steps of 32 bytes."""
        found = list(sums)
        half, other = self._halves
        pairs = self._across // 8
        for step in range(2):
            right = self._words(1, stages[1], along[1], (other, half), step, 0)
            for first in range(0, self._down, _LINES):
                left = self._words(0, stages[0], along[0], (half, other), step, first)
                for k in range(_LINES // 16 * pairs):
                    row, column = divmod(k, pairs)
                    at = 4 * (first // 16 * pairs + k)
                    found[at : at + 4] = self.function.multiply_matrices(
                        self.kept,
                        left[4 * row : 4 * row + 4],
                        right[2 * column : 2 * column + 2],
                        found[at : at + 4],
                    )
        return found

    def _words(
        self,
        number: int,
        stage: Value,
        along: Value,
        halves: tuple[Value, Value],
        step: int,
        first: int,
    ) -> list[Value]:
        """The words of 32 of a warp's lines, 16 after the other. ``halves``: which 8
        lines and which 16 bytes the matrix has whose row this lane gives."""
        f = self.function
        across_layout, along_layout = self.layouts[number]
        start = (self._column if number else self._row) + first
        line_half, place_half = halves

        def line_after_line() -> list[Value]:
            line = start + line_half * 8 + self._eighth
            base = line * along_layout.pitch + (place_half * 16 + step * self._step)
            return self._load(stage, base, 16 * along_layout.pitch, transposed=False)

        def place_after_place() -> list[Value]:
            place = place_half * 8 + self._eighth + step * (self._step // 2)
            base = across_layout.offset(start + line_half * 8, place)
            return self._load(stage, base, 16 * across_layout.item, transposed=True)

        if not across_layout.place_major:
            return line_after_line()
        return f.branch(along, line_after_line, place_after_place)

    def _load(
        self, stage: Value, base: Value, apart: int, *, transposed: bool
    ) -> list[Value]:
        f, words = self.function, []
        for k in range(_LINES // 16):
            row = f.offset(f.offset(stage, base), k * apart)
            words += f.load_matrices(row, transposed=transposed)
        return words
