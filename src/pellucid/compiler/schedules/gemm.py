"""Matrix products ``C = A B (+ bias)`` for run-time shapes and strides.

One kernel per dtype serves every shape, transposition and alignment. Its call is that
of every kernel, ``kernel(data, sizes, strides, params)``:

- ``data`` = C, A, B, bias; ``sizes`` = m, n, k. A null bias is none;
- ``strides`` = {row, column} in bytes of C, A, B and the bias. Columns of C lie side by
  side. A and B have any strides; one unit stride each makes them fast. A bias has a
  column stride of 0 or one element and any row stride, so a row, a column, a number and
  a whole matrix are all biases. C overlaps none of them;
- ``params[0]`` = the address, aligned to 64, of ``WORKSPACE_BYTES`` of memory that this
  call alone uses. Its content matters neither before nor after.

``k == 0`` gives zeros (or the bias). NaN and infinities go where mathematics sends
them.

**Same bits.** An element's products are added in ascending k within blocks of k, and
the blocks' sums in ascending order; a kernel never asks how much of C it was given,
except that few rows, or one column, may be summed by lanes (``gemm_dot.py``). So a
driver may cut C between any rows and any columns, provided that no piece of a larger
problem has fewer than ``MIN_ROWS`` rows or ``MIN_COLUMNS`` columns. Pieces should start
at multiples of ``ROW_SPLIT`` and ``COLUMN_SPLIT`` to be made of full tiles.

Read next: ``gemm_tile.py`` (the register tiles), ``gemm_pack.py`` (the copies).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pellucid.compiler.builder import I64, PTR, Function, Module, Type, Value
from pellucid.compiler.schedules.gemm_dot import (
    DOT_DEPTH,
    SINGLE,
    dot_function,
    dot_shapes,
)
from pellucid.compiler.schedules.gemm_pack import pack_columns, pack_rows
from pellucid.compiler.schedules.gemm_tile import (
    Layout,
    Panel,
    Tiling,
    panel_function,
    tiling,
)
from pellucid.compiler.targets.x86 import Target

WORKSPACE_BYTES = 3 << 19
MIN_ROWS = 5
MIN_COLUMNS = 2
ROW_SPLIT = 84
COLUMN_SPLIT = 128

# Copying B pays when several panels of rows read it and it outgrows the L1 cache, or
# when few rows read a B whose rows lie on more pages than the processor keeps track of;
# copying A pays when several tiles of columns read it.
_PACK_B_ROWS = 29
_PACK_B_ELEMENTS = 8192
_PACK_LARGE_B_ROWS = 8
_LARGE_B_ELEMENTS = 1 << 18
_PACK_A_ROWS = 6
_PACK_A_COLUMNS = 128


def gemm_module(target: Target, element: Type) -> Module:
    """The module of the kernel for one element type."""
    module = Module()
    _KernelWriter(module, tiling(target, element)).write()
    return module


LoopBody = Callable[[Value, list[Value]], None]


class _Matrix(NamedTuple):
    """The address of an element, and the strides from it in bytes."""

    start: Value
    row: Value
    column: Value

    def at(self, row: Value | None, column: Value | None) -> _Matrix:
        """The submatrix whose first element is (``row``, ``column``)."""
        start, f = self.start, self.start.function
        if row is not None:
            start = f.offset(start, row * self.row)
        if column is not None:
            start = f.offset(start, column * self.column)
        return self._replace(start=start)

    def transposed(self) -> _Matrix:
        return _Matrix(self.start, self.column, self.row)

    def select(self, condition: Value, other: _Matrix) -> _Matrix:
        """``other`` where ``condition`` holds."""
        select = self.start.function.select
        return _Matrix(
            *(select(condition, b, a) for a, b in zip(self, other, strict=True))
        )


class _Block(NamedTuple):
    """A block of B: its first row and column, its extents, and its tiles' panels."""

    row: Value
    column: Value
    k: Value
    n: Value
    is_last: Value
    b: Value
    b_row: Value
    b_panel: Value


class _KernelWriter:
    """Writes the kernel and the functions that it calls."""

    def __init__(self, module: Module, tiling: Tiling) -> None:
        self.tiling = tiling
        self.f = f = module.function(
            "kernel",
            [("data", PTR), ("sizes", PTR), ("strides", PTR), ("params", PTR)],
            I64,
        )
        self.panels = {
            layout: [
                panel_function(module, tiling, rows, layout)
                for rows in range(1, tiling.rows + 1)
            ]
            for layout in Layout
        }
        self.dots = {
            shape: dot_function(module, tiling, shape)
            for shape in [SINGLE, *dot_shapes(tiling)]
        }
        self.packs = {
            vectors: (
                pack_rows(module, tiling, vectors),
                pack_columns(module, tiling, vectors),
            )
            for vectors in {tiling.vectors, tiling.vectors_of_a}
        }
        data, sizes, strides, params = f.args
        self.m, self.n, self.k = (f.load(f.offset(sizes, 8 * i), I64) for i in range(3))
        self.c, self.a, self.b = (self._matrix(data, strides, i) for i in range(3))
        self.bias = self._matrix(data, strides, 3)
        self.workspace = f.load(params, PTR)

    def _matrix(self, data: Value, strides: Value, operand: int) -> _Matrix:
        f = self.f
        start = f.load(f.offset(data, 8 * operand), PTR)
        row = f.load(f.offset(strides, 16 * operand), I64)
        column = f.load(f.offset(strides, 16 * operand + 8), I64)
        return _Matrix(start, row, column)

    def write(self) -> None:
        f = self.f
        zero = f.integer(0)
        f.return_if((self.m <= 0) | (self.n <= 0), zero)
        self._turn_single_column()
        depth = self._block_depth()

        def tiles() -> None:
            f.loop(0, self.n, self.tiling.columns, [], self._column_block(depth))

        f.branch(self._uses_dots(), self._dots, tiles)
        f.ret(zero)

    def _turn_single_column(self) -> None:
        """Make one contiguous column of C a row: ``C^T = B^T A^T``."""
        f = self.f
        size = self.tiling.element_bytes
        is_row = self.bias.row.equals(0) | self.bias.row.equals(size)
        turns = self.n.equals(1) & self.c.row.equals(size) & is_row
        self.bias = self.bias.select(turns, self.bias.transposed())
        self.m, self.n = (
            f.select(turns, self.n, self.m),
            f.select(turns, self.m, self.n),
        )
        self.c = self.c.select(turns, self.c.transposed())
        a, b = self.a.transposed(), self.b.transposed()
        self.a, self.b = self.a.select(turns, b), self.b.select(turns, a)

    def _block_depth(self) -> Value:
        """Near-equal blocks of k, a function of k alone."""
        f, k, limit = self.f, self.k, self.tiling.depth

        def divide() -> list[Value]:
            count = f.binary("udiv", k + (limit - 1), limit)
            return [(f.binary("udiv", k + count - 1, count) + 15) & -16]

        return f.branch(k <= limit, lambda: [f.integer(limit)], divide)[0]

    # ------------------------------------------------------------- dot products

    def _uses_dots(self) -> Value:
        size = self.tiling.element_bytes
        contiguous = self.a.column.equals(size) & self.b.row.equals(size)
        return (self.m <= len(dot_shapes(self.tiling))) & contiguous

    def _dots(self) -> None:
        f, none = self.f, self.f.integer(0)
        by_rows = [self.dots[shape] for shape in dot_shapes(self.tiling)]

        def block(row: Value, _: list[Value]) -> None:
            k = f.minimum(self.k - row, DOT_DEPTH)
            panel = self._panel_arguments(
                _Block(
                    row=row,
                    column=none,
                    k=k,
                    n=self.n,
                    is_last=(row + DOT_DEPTH) >= self.k,
                    b=self.b.at(row, None).start,
                    b_row=self.b.column,
                    b_panel=none,
                ),
                none,
                self.a.at(None, row).start,
                self.a.row,
            )
            f.branch(
                (self.m * self.n).equals(1),
                lambda: self._call(self.dots[SINGLE], panel),
                lambda: self._dispatch(by_rows, 1, self.m, panel),
            )

        f.loop(0, self.k, DOT_DEPTH, [], block, at_least_once=True)

    # ------------------------------------------------------------- blocks of B

    def _column_block(self, depth: Value) -> LoopBody:
        f = self.f
        packs_b = self._packs_b()

        def columns(column: Value, _: list[Value]) -> None:
            n = f.minimum(self.n - column, self.tiling.columns)

            def rows(row: Value, _: list[Value]) -> None:
                k = f.minimum(self.k - row, depth)
                b = self._panels_of_b(packs_b, self.b.at(row, column), k, n)
                is_last = (row + depth) >= self.k
                self._row_panels(_Block(row, column, k, n, is_last, *b))

            f.loop(0, self.k, depth, [], rows, at_least_once=True)

        return columns

    def _packs_b(self) -> Value:
        scattered = self.b.column.differs(self.tiling.element_bytes)
        num_elements = self.k * self.n
        some = (self.m >= _PACK_LARGE_B_ROWS) & (num_elements > _LARGE_B_ELEMENTS)
        many = (self.m >= _PACK_B_ROWS) & (num_elements > _PACK_B_ELEMENTS)
        return scattered | some | many

    def _panels_of_b(self, packs: Value, b: _Matrix, k: Value, n: Value) -> list[Value]:
        """The address of a block's first panel, the strides of its rows and panels."""
        f = self.f
        width_bytes = self.tiling.width * self.tiling.element_bytes

        def pack() -> list[Value]:
            self._pack(self.tiling.vectors, b, self.workspace, k, n)
            return [self.workspace, f.integer(width_bytes), k * width_bytes]

        return f.branch(packs, pack, lambda: [b.start, b.row, f.integer(width_bytes)])

    def _pack(
        self,
        vectors: int,
        source: _Matrix,
        target: Value,
        k: Value,
        n: Value,
    ) -> None:
        """Copy ``k`` rows of ``n`` columns into panels of ``vectors``."""
        f = self.f
        by_rows, by_columns = self.packs[vectors]
        args = [source.start, target, source.row, source.column, k, n]
        f.branch(
            source.column.equals(self.tiling.element_bytes),
            lambda: self._call(by_rows, args),
            lambda: self._call(by_columns, args),
        )

    def _call(self, function: Function, args: Iterable[Value]) -> None:
        self.f.call(function, *args)

    # ------------------------------------------------------------- panels of rows

    def _row_panels(self, block: _Block) -> None:
        """All rows of C: full panels, the last two of them near-equal."""
        f, limit = self.f, self.tiling.rows
        packs_a = self._packs_a()

        def panel(_: Value, carried: list[Value]) -> list[Value]:
            row = carried[0]
            left = self.m - row
            half = f.binary("lshr", left + 1, 1)
            rows = f.select(left < 2 * limit, half, limit)
            rows = f.select(left <= limit, left, rows)
            self._row_panel(block, packs_a, row, rows)
            return [row + rows]

        count = f.binary("udiv", self.m + (limit - 1), limit)
        f.loop(0, count, 1, [f.integer(0)], panel, at_least_once=True)

    def _packs_a(self) -> Value:
        size = self.tiling.element_bytes
        scattered = self.a.row.differs(size) & self.a.column.differs(size)
        reused = (self.m >= _PACK_A_ROWS) & (self.n >= _PACK_A_COLUMNS)
        return scattered | reused

    def _row_panel(
        self, block: _Block, packs_a: Value, row: Value, rows: Value
    ) -> None:
        f, tiling = self.f, self.tiling
        by_rows = self.a.row.equals(tiling.element_bytes)
        a = self.a.at(row, block.row)

        def pack() -> list[Value]:
            b_bytes = tiling.depth * tiling.columns * tiling.element_bytes
            target = f.offset(self.workspace, b_bytes)
            self._pack(tiling.vectors_of_a, a.transposed(), target, block.k, rows)
            return [target, f.integer(tiling.vectors_of_a * tiling.vector_bytes)]

        def keep() -> list[Value]:
            return [a.start, f.select(by_rows, a.column, a.row)]

        start, stride = f.branch(packs_a, pack, keep)
        panel = self._panel_arguments(block, row, start, stride)
        f.branch(
            packs_a | by_rows,
            lambda: self._dispatch(self.panels[Layout.ROWS], 1, rows, panel),
            lambda: self._dispatch(self.panels[Layout.DEPTH], 1, rows, panel),
        )

    def _panel_arguments(
        self, block: _Block, row: Value, a: Value, a_stride: Value
    ) -> Panel:
        f = self.f
        c = self.c.at(row, block.column)
        bias = self.bias.at(row, block.column)
        null = Value(f, "null", PTR)
        has_bias = block.is_last & self.bias.start.differs(null)
        return Panel(
            a=a,
            a_stride=a_stride,
            b=block.b,
            b_row=block.b_row,
            b_panel=block.b_panel,
            c=c.start,
            c_row=c.row,
            n=block.n,
            k=block.k,
            accumulate=block.row,
            bias=f.select(has_bias, bias.start, null),
            bias_row=bias.row,
            bias_column=bias.column,
        )

    def _dispatch(
        self, functions: list[Function], first: int, rows: Value, panel: Panel
    ) -> None:
        """Call the function for ``rows``; ``functions`` are those for ``first``,
        ``first + 1``, ... rows."""
        half = len(functions) // 2
        if half == 0:
            self.f.call(functions[0], *panel)
            return
        low, high = functions[:half], functions[half:]
        self.f.branch(
            rows < first + half,
            lambda: self._dispatch(low, first, rows, panel),
            lambda: self._dispatch(high, first + half, rows, panel),
        )
