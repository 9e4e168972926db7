"""Matrix products ``C = A B (+ bias)`` for run-time shapes and strides.

One kernel per dtype serves every shape, transposition and alignment. Its call is that
of every kernel, ``kernel(data, sizes, strides, params)``:

- ``data`` = C, A, B, bias (or null); ``sizes`` = m, n, k;
- ``strides`` = {row, column} in bytes of C, A, B and the bias. Columns of C are
  contiguous. A and B have any strides; a unit stride in one dim makes them fast. The
  bias has a column stride of 0 or one element and any row stride, so it may be a row, a
  column, a number or a matrix. C overlaps none of them;
- ``params[0]`` = the address of a workspace of ``WORKSPACE_BYTES``, aligned to 64,
  which no other call uses at the same time. Its contents need not be initialised;
- ``params[1]``: nonzero if the product is added to C. Not supported for narrow dtypes,
  whose sums are wider than C;
- ``params[2]``: 0. Other modes, with other arguments, are the parts of a product that
  ``gemm_parts.py`` describes.

``k == 0`` gives zeros (or the bias). NaN and infinities propagate. float16 and bfloat16
are accumulated in float32, int8, int16 and uint8 in int32, and converted once, after
the bias is added; integers wrap. int8 factors of an int32 product are words
(``gemm_words.py``): ``k``, strides and panels are those of int32.

**Same bits.** An element's products are added in ascending k within blocks of k, and
the blocks' sums in ascending order. This order does not depend on the size of C, except
that few rows, or one column, may be summed across lanes (``gemm_dot.py``). So a driver
may split C between any rows and any columns, provided that no part of a larger problem
has fewer than ``MIN_ROWS`` rows or ``MIN_COLUMNS`` columns. Parts should start at
multiples of ``ROW_SPLIT`` and ``COLUMN_SPLIT``, so that they consist of full tiles.

The driver is ``runtime/products/gemm.h``, which also loops over batches. Read next:
``gemm_functions.py`` (what the kernel calls), ``gemm_tile.py`` (output tiles).
"""

from __future__ import annotations

from pellucid_compiler.abi.limits import SMALL_B_ELEMENTS, WORKSPACE_BYTES
from pellucid_compiler.codegen.builder import I1, Module, Value
from pellucid_compiler.codegen.schedules.gemm_dot import DOT_DEPTH, SINGLE, dot_shapes
from pellucid_compiler.codegen.schedules.gemm_functions import GemmFunctions
from pellucid_compiler.codegen.schedules.gemm_modes import write_modes
from pellucid_compiler.codegen.schedules.gemm_operands import (
    Block,
    Matrix,
    Region,
    read_problem,
    transposed_if_column,
)
from pellucid_compiler.codegen.schedules.gemm_tile import Layout, Panel
from pellucid_compiler.codegen.schedules.gemm_tiling import tiling
from pellucid_compiler.codegen.targets.x86 import Target

MIN_ROWS = 13
MIN_COLUMNS = 2
ROW_SPLIT = 84
COLUMN_SPLIT = 128

# B is packed if several panels of rows read it and it exceeds the L1 cache. A slightly
# larger B, each of whose vectors is in one cache line, is read in place for up to a few
# hundred rows, unless tiles prefetch it, which only helps packed panels.
# A is read in place if it is contiguous along k, unless its rows share cache sets, many
# columns read it, or there are too few rows for packing B.
_PACK_B_ROWS = 29
_PACK_B_ELEMENTS = 8192
_PACK_ALIGNED_B_ROWS = 256
_CACHE_LINE = 64
_PACK_A_ROWS = 6
_PACK_A_COLUMNS = 128
_PACK_ANY_A_COLUMNS = 512
_ALIASING_BYTES = 2048

# Dot products are used for at most so many groups of rows, each of which reads all of
# B.
_DOT_GROUPS = 3

# Rows of C of a narrow dtype whose sums fit the workspace at a time.
_NARROW_ROWS = 3 * ROW_SPLIT


def emit_gemm(module: Module, dtype: str, result: str, target: Target) -> None:
    """Write the kernel for matrices of ``dtype`` into ``module``."""
    functions = GemmFunctions(module, tiling(target, dtype, result))
    write_modes(functions)
    _ProductWriter(functions).write()


class _ProductWriter:
    """Writes the whole product: blocks of B, panels of rows, or dot products."""

    def __init__(self, functions: GemmFunctions) -> None:
        self.functions = functions
        self.f, self.tiling = functions.f, functions.tiling
        problem = read_problem(self.f, self.tiling.stored_bytes, WORKSPACE_BYTES)
        if not self.tiling.is_ordered:  # else A and B must not be swapped
            problem = transposed_if_column(problem, self.tiling.stored_bytes)
        self.problem = problem

    def write(self) -> None:
        f = self.f
        f.return_if((self.problem.m <= 0) | (self.problem.n <= 0), self.functions.zero)
        depth = self._block_depth()
        if not self.functions.dots:
            self._tiles(depth)
        else:
            f.branch(self._uses_dots(), self._dots, lambda: self._tiles(depth))
        f.ret(self.functions.zero)

    def _block_depth(self) -> Value:
        """The depth of near-equal blocks of k, a function of k only."""
        f, k, limit = self.f, self.problem.k, self.tiling.depth

        def divide() -> list[Value]:
            count = f.binary("udiv", k + (limit - 1), limit)
            return [(f.binary("udiv", k + count - 1, count) + 15) & -16]

        return f.branch(k <= limit, lambda: [f.integer(limit)], divide)[0]

    # ------------------------------------------------------------- dot products

    def _uses_dots(self) -> Value:
        size = self.tiling.stored_bytes
        contiguous = self.problem.a.column.equals(size) & self.problem.b.row.equals(
            size
        )
        most = _DOT_GROUPS * len(dot_shapes(self.tiling))
        return (self.problem.m <= most) & contiguous

    def _dots(self) -> None:
        f, zero = self.f, self.functions.zero
        is_row_major = [self.functions.dots[shape] for shape in dot_shapes(self.tiling)]
        problem = self.problem
        adds = problem.bias.start.differs(self.functions.null)
        region = Region(zero, zero, problem.m, problem.n, problem.c, problem.bias, adds)

        # The sums of narrow dtypes do not fit C: they are not split into blocks of k.
        limit = problem.k if self.tiling.is_narrow else f.integer(DOT_DEPTH)

        def block(depth: Value, _: list[Value]) -> None:
            here = Block(
                region,
                depth,
                k=f.minimum(problem.k - depth, limit),
                is_last=(depth + limit) >= problem.k,
                b=problem.b.at(depth, None).start,
                b_row=problem.b.column,
                b_panel=zero,
            )

            def group(row: Value, _: list[Value]) -> None:
                a = problem.a.at(row, depth)
                panel = self._panel_arguments(here, row, a.start, a.row, here.k)
                rows = f.minimum(problem.m - row, len(is_row_major))
                f.branch(
                    (problem.m * problem.n).equals(1),
                    lambda: self.functions.call(self.functions.dots[SINGLE], panel),
                    lambda: self.functions.dispatch(is_row_major, 1, rows, panel),
                )

            f.loop(0, problem.m, len(is_row_major), [], group, at_least_once=True)

        f.loop(0, problem.k, limit, [], block, at_least_once=True)

    # ------------------------------------------------------------- blocks of B

    def _tiles(self, depth: Value) -> None:
        f, limit = self.f, self.tiling.columns
        packs_b = self._packs_b()

        def columns(column: Value, _: list[Value]) -> None:
            n = f.minimum(self.problem.n - column, limit)
            if self.tiling.is_narrow:
                self._rounded_regions(column, n, depth, packs_b)
                return
            c, bias = (x.at(None, column) for x in (self.problem.c, self.problem.bias))
            adds = self.problem.bias.start.differs(self.functions.null)
            region = Region(
                self.functions.zero, column, self.problem.m, n, c, bias, adds
            )
            self._region(region, depth, packs_b)

        f.loop(0, self.problem.n, limit, [], columns)

    def _rounded_regions(
        self, column: Value, n: Value, depth: Value, packs_b: Value
    ) -> None:
        """Compute columns of C of a narrow dtype, some rows at a time, through sums in
        the workspace."""
        f, tiling = self.f, self.tiling
        assert self.functions.round_sums is not None
        round_sums = self.functions.round_sums
        size = tiling.element_bytes
        sums = Matrix(
            f.offset(self.problem.workspace, tiling.packed_bytes),
            f.integer(tiling.columns * size),
            f.integer(size),
        )
        no_bias = Matrix(self.functions.null, self.functions.zero, self.functions.zero)

        def rows(row: Value, _: list[Value]) -> None:
            m = f.minimum(self.problem.m - row, _NARROW_ROWS)
            region = Region(row, column, m, n, sums, no_bias, f.constant(0, I1))
            self._region(region, depth, packs_b)
            c, bias = self.problem.c.at(row, column), self._bias_or_null(row, column)
            args = [
                sums.start,
                c.start,
                c.row,
                bias,
                self.problem.bias.row,
                self.problem.bias.column,
            ]
            self.functions.call(round_sums, [*args, m, n])

        f.loop(0, self.problem.m, _NARROW_ROWS, [], rows)

    def _bias_or_null(self, row: Value, column: Value) -> Value:
        exists = self.problem.bias.start.differs(self.functions.null)
        return self.f.select(
            exists, self.problem.bias.at(row, column).start, self.functions.null
        )

    def _region(self, region: Region, depth: Value, packs_b: Value) -> None:
        f = self.f

        def block(row: Value, _: list[Value]) -> None:
            k = f.minimum(self.problem.k - row, depth)
            start = self.problem.b.at(row, region.column)
            b = self._panels_of_b(packs_b, start, k, region.n)
            self._row_panels(Block(region, row, k, (row + depth) >= self.problem.k, *b))

        f.loop(0, self.problem.k, depth, [], block, at_least_once=True)

    def _packs_b(self) -> Value:
        if self.tiling.always_packs:
            return self.f.constant(1, I1)
        scattered = self.problem.b.column.differs(self.tiling.stored_bytes)
        num_elements = self.problem.k * self.problem.n
        many = (self.problem.m >= _PACK_B_ROWS) & (num_elements > _PACK_B_ELEMENTS)
        unaligned = (self.problem.b.row & (_CACHE_LINE - 1)).differs(0)
        larger = (self.problem.m > _PACK_ALIGNED_B_ROWS) | (
            num_elements > SMALL_B_ELEMENTS
        )
        prefetches = self._packs_a() | self._a_is_row_major()
        return scattered | (many & (unaligned | larger | prefetches))

    def _panels_of_b(self, packs: Value, b: Matrix, k: Value, n: Value) -> list[Value]:
        """The address of a block's first panel, and the strides of rows and panels."""
        f = self.f
        width_bytes = self.tiling.width * self.tiling.element_bytes

        def pack() -> list[Value]:
            self.functions.pack(self.tiling.vectors, b, self.problem.workspace, k, n)
            panel_bytes = self.tiling.panel_rows(k) * width_bytes
            return [self.problem.workspace, f.integer(width_bytes), panel_bytes]

        return f.branch(packs, pack, lambda: [b.start, b.row, f.integer(width_bytes)])

    # ------------------------------------------------------------- panels of rows

    def _row_panels(self, block: Block) -> None:
        """Compute all rows of C: full panels, except for two near-equal last ones."""
        f, limit = self.f, self.tiling.rows
        packs_a = self._packs_a()

        def panel(_: Value, carried: list[Value]) -> list[Value]:
            row = carried[0]
            left = block.region.m - row
            half = f.binary("lshr", left + 1, 1)
            rows = f.select(left < 2 * limit, half, limit)
            rows = f.select(left <= limit, left, rows)
            self._row_panel(block, packs_a, row, rows)
            return [row + rows]

        count = f.binary("udiv", block.region.m + (limit - 1), limit)
        f.loop(0, count, 1, [f.integer(0)], panel, at_least_once=True)

    def _packs_a(self) -> Value:
        if self.tiling.always_packs:
            return self.f.constant(1, I1)
        problem, size = self.problem, self.tiling.stored_bytes
        row, n = problem.a.row, problem.n
        scattered = row.differs(size) & problem.a.column.differs(size)
        aliases = (row & (_ALIASING_BYTES - 1)).equals(0)
        few = problem.m < _PACK_B_ROWS
        inconvenient = (
            self._a_is_row_major() | aliases | few | (n >= _PACK_ANY_A_COLUMNS)
        )
        reused = (problem.m >= _PACK_A_ROWS) & (n >= _PACK_A_COLUMNS)
        return scattered | (reused & inconvenient)

    def _a_is_row_major(self) -> Value:
        return self.problem.a.row.equals(self.tiling.stored_bytes)

    def _row_panel(self, block: Block, packs_a: Value, row: Value, rows: Value) -> None:
        f, tiling = self.f, self.tiling
        is_row_major = self._a_is_row_major()
        a = self.problem.a.at(block.region.row + row, block.row)

        def pack() -> list[Value]:
            target = f.offset(self.problem.workspace, tiling.packed_b_bytes)
            self.functions.pack(
                tiling.vectors_of_a, a.transposed(), target, block.k, rows
            )
            return [target, f.integer(tiling.vectors_of_a * tiling.vector_bytes)]

        def in_place() -> list[Value]:
            return [a.start, f.select(is_row_major, a.column, a.row)]

        start, stride = f.branch(packs_a, pack, in_place)
        rows_of_panel = tiling.panel_rows(block.k)
        panel = self._panel_arguments(block, row, start, stride, rows_of_panel)

        def dispatch(layout: Layout) -> None:
            self.functions.dispatch(self.functions.panels[layout], 1, rows, panel)

        if tiling.always_packs:
            dispatch(Layout.ROWS)
            return
        f.branch(
            packs_a | is_row_major,
            lambda: dispatch(Layout.ROWS),
            lambda: dispatch(Layout.DEPTH),
        )

    def _panel_arguments(
        self, block: Block, row: Value, a: Value, a_stride: Value, k: Value
    ) -> Panel:
        region = block.region
        c, bias = region.sums.at(row, None), region.bias.at(row, None)
        adds_bias = block.is_last & region.adds_bias
        return Panel(
            a=a,
            a_stride=a_stride,
            b=block.b,
            b_row=block.b_row,
            b_panel=block.b_panel,
            c=c.start,
            c_row=c.row,
            n=region.n,
            k=k,
            accumulate=self._accumulates(block),
            bias=self.f.select(adds_bias, bias.start, self.functions.null),
            bias_row=bias.row,
            bias_column=bias.column,
        )

    def _accumulates(self, block: Block) -> Value:
        if self.tiling.is_narrow:
            return block.row
        return block.row | self.problem.accumulate
