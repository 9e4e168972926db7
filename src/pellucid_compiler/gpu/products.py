"""The schedule of ``gemm``: a block computes tiles of results.

The last stored axes number columns, of which the first factor knows nothing, those
before them rows, of which the second knows nothing; those before are batches. While a
tile of both factors is added up, the next is on its way to shared memory. The order of
sums depends on the tile's shape alone. Read next: ``product_loader.py`` (tiles of
factors, windows of images), ``product_tiles.py`` (arithmetic).
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.formats import convert, register_type
from pellucid_compiler.codegen.kernel import Gemm, Kernel
from pellucid_compiler.gpu.builder import MATRIX_SUMS, GpuFunction, GpuModule
from pellucid_compiler.gpu.grid import Grid, Shape
from pellucid_compiler.gpu.product_loader import (
    Guard,
    Loader,
    Origin,
    Places,
    guards_of,
)
from pellucid_compiler.gpu.product_tiles import FmaTile, MatrixTile

_TOGETHER = 2  # blocks of a multiprocessor: one computes while the other waits

_SUMMED = {"float64": "float64", "float32": "float32"}
_SUMMED |= dict.fromkeys(("float16", "bfloat16"), "float32")
_SUMMED |= dict.fromkeys(("int8", "uint8", "int16", "int32"), "int32")
_SUMMED["int64"] = "int64"


def emit_gemm(module: GpuModule, kernel: Kernel, form: Gemm, shape: Shape) -> None:
    """C, A, B and a bias; the other operands' strides along an axis may be 0."""
    if kernel.outputs[0] not in _SUMMED:
        raise NotImplementedError(f"products of {kernel.outputs[0]}")
    module.blocks_together = _TOGETHER
    _Product(Grid(module, kernel, shape)).write()


def _tile_of(f: GpuFunction, kernel: Kernel, summed: str) -> FmaTile | MatrixTile:
    """On tensor cores, if there are any that multiply these dtypes exactly."""
    dtype = kernel.inputs[0]
    is_exact = MATRIX_SUMS.get(dtype) == register_type(summed)
    if f.has_matrices and is_exact and kernel.inputs[1] == dtype:
        return MatrixTile(f, dtype)
    return FmaTile(f, summed)


class _Product:
    """The kernel of one product."""

    def __init__(self, g: Grid) -> None:
        self.g, self.function = g, g.function
        f, shape = g.function, g.shape
        self.summed = _SUMMED[g.kernel.outputs[0]]
        tile = self.tile = _tile_of(f, g.kernel, self.summed)
        batches = shape.stored - shape.rows - shape.columns
        self.batches = range(batches)
        rows = range(batches, batches + shape.rows)
        columns = range(rows.stop, shape.stored)
        self.num_rows, self.num_columns = g.count(rows), g.count(columns)
        reduced = range(shape.stored, shape.axes)
        self.depth = g.count(reduced)
        self.finished = (g.first_output, *range(2, g.first_output))  # C and the bias
        first, second = self.guards = [guards_of(g, k) for k in range(2)]
        self.rows = Places(g, rows, (0, *first, *self.finished), tile.rows, 1)
        self.columns = Places(g, columns, (1, *second, *self.finished), tile.columns, 1)
        self.places = Places(g, reduced, (0, 1, *first, *second), tile.depth, 2)
        self.loaders = [
            Loader(g, k, lines, self.places, tile.layouts[k], tile.kept)
            for k, lines in enumerate((self.rows, self.columns))
        ]
        self.shared = [f.shared(2 * loader.num_bytes) for loader in self.loaders]

    def write(self) -> None:
        g, f, tile = self.g, self.function, self.tile
        down = f.binary("udiv", self.num_rows + (tile.rows - 1), f.integer(tile.rows))
        across = f.binary(
            "udiv", self.num_columns + (tile.columns - 1), f.integer(tile.columns)
        )

        def one(index: Value, _: list[Value]) -> None:
            batch = f.binary("udiv", index, across * down)
            inside = f.binary("urem", index, across * down)
            row = f.binary("udiv", inside, across) * tile.rows
            column = f.binary("urem", inside, across) * tile.columns
            starts = [self._start(k, batch) for k in range(2)]
            indices = [[self._first(k, batch) for k in own] for own in self.guards]
            sums = self._sums(starts, indices, row, column)
            self._finish(batch, row, column, sums)

        count = g.count(self.batches) * across * down
        f.loop(f.block(), count, f.blocks(), [], one)
        f.ret()

    def _start(self, operand: int, batch: Value) -> Value:
        """Where an operand's part for a batch is."""
        start = self.g.pointers[operand]
        if operand < 2 and self.guards[operand]:
            start = self.function.offset(
                start, self.g.named[f"o{self.g.order[operand]}"]
            )
        for axis, place in self.g.coordinates(batch, self.batches).items():
            start = self.function.offset(start, place * self.rows.stride(operand, axis))
        return start

    def _first(self, guard: Guard, batch: Value) -> Value:
        """The index of a batch's first point in a dim with a guard."""
        index = self.g.named[f"f{guard.name(self.g)}"]
        for axis, place in self.g.coordinates(batch, self.batches).items():
            index = index + place * self.rows.stride(guard, axis)
        return index

    def _sums(
        self,
        starts: Sequence[Value],
        indices: Sequence[Sequence[Value]],
        row: Value,
        column: Value,
    ) -> list[Value]:
        """Loads a part of the factors, and adds up the one before, in turn."""
        f, tile = self.function, self.tile
        self.rows.write(row, f.integer(0))
        self.columns.write(column, f.integer(0))
        self.places.write(f.integer(0), f.integer(0))

        def stages(part: Value) -> list[Value]:
            return [
                f.offset(start, part * loader.num_bytes)
                for start, loader in zip(self.shared, self.loaders, strict=True)
            ]

        def step(number: Value, sums: list[Value]) -> list[Value]:
            part, first = number & 1, number * tile.depth
            f.wait_copies()
            f.barrier()  # the part before is there, and the one before that is used up

            def load() -> None:
                lines, own = (row, column), stages(part)
                for k, loader in enumerate(self.loaders):
                    origin = Origin(starts[k], lines[k], first, part, indices[k])
                    loader.load(origin, own[k])
                self.places.write(first + tile.depth, part ^ 1)

            def add() -> list[Value]:
                along = [loader.is_along for loader in self.loaders]
                return tile.add(stages(part ^ 1), along, sums)

            f.branch(first < self.depth, load)
            return f.branch(number > 0, add, lambda: sums)

        steps = f.binary("udiv", self.depth + (tile.depth - 1), f.integer(tile.depth))
        return f.loop(0, steps + 1, 1, tile.zeros(), step)

    def _finish(
        self, batch: Value, row: Value, column: Value, sums: list[Value]
    ) -> None:
        """Adds the bias and stores the results."""
        g, f = self.g, self.function
        stored = g.first_output
        rows, columns = self.tile.points()
        starts = [self._start(k, batch) for k in self.finished]
        for r, own_row in enumerate(rows):
            for c, own_column in enumerate(columns):
                total = self.tile.sum_at(sums, r, c)

                def finish(
                    own_row: Value = own_row,
                    own_column: Value = own_column,
                    total: Value = total,
                ) -> None:
                    at = []
                    for k, start in zip(self.finished, starts, strict=True):
                        down = self.rows.read(k, row, own_row, f.integer(0))
                        across = self.columns.read(k, column, own_column, f.integer(0))
                        at.append(f.offset(start, down + across))
                    if len(at) > 1:
                        bias = g.load(2, at[1])
                        total = total + convert(f, bias, g.dtypes[2], self.summed)
                    g.store(stored, at[0], total, self.summed)

                inside = row + own_row < self.num_rows
                inside = inside & (column + own_column < self.num_columns)
                f.branch(inside, finish)
        if len(self.rows.axes) > 1 or len(self.columns.axes) > 1:
            f.barrier()  # before the next tile's tables are written
