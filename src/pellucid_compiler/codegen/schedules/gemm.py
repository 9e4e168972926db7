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
``gemm_tile.py`` (output tiles), ``gemm_pack.py`` (packing).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from pellucid_compiler.abi.limits import SMALL_B_ELEMENTS, WORKSPACE_BYTES
from pellucid_compiler.codegen.builder import I1, I64, PTR, Function, Module, Value
from pellucid_compiler.codegen.schedules.gemm_dot import (
    DOT_DEPTH,
    SINGLE,
    dot_function,
    dot_shapes,
)
from pellucid_compiler.codegen.schedules.gemm_narrow import round_function
from pellucid_compiler.codegen.schedules.gemm_operands import (
    Block,
    Matrix,
    Region,
    read_problem,
    transposed_if_column,
)
from pellucid_compiler.codegen.schedules.gemm_pack import (
    pack_columns,
    pack_panels,
    pack_rows,
)
from pellucid_compiler.codegen.schedules.gemm_parts import (
    MULTIPLY,
    PACK_MATRIX,
    PRODUCT,
    arguments,
    part_functions,
)
from pellucid_compiler.codegen.schedules.gemm_runs import MULTIPLY_RUNS, run_functions
from pellucid_compiler.codegen.schedules.gemm_single import (
    DOTS,
    LANES,
    STEPS,
    TAPS,
    lanes_function,
    single_functions,
)
from pellucid_compiler.codegen.schedules.gemm_tile import Layout, Panel, panel_function
from pellucid_compiler.codegen.schedules.gemm_tiling import Tiling, tiling
from pellucid_compiler.codegen.schedules.winograd import winograd_functions
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
    _KernelWriter(module, tiling(target, dtype, result)).write()


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
            for layout in ([Layout.ROWS] if tiling.always_packs else Layout)
        }
        self.dots = {
            shape: dot_function(module, tiling, shape)
            for shape in ([SINGLE, *dot_shapes(tiling)] if tiling.has_dots else [])
        }
        self.packs = {
            vectors: (
                pack_rows(module, tiling, vectors),
                pack_columns(module, tiling, vectors),
            )
            for vectors in {tiling.vectors, tiling.vectors_of_a}
        }
        self.pack_panels = pack_panels(module, tiling, tiling.vectors_of_a)
        self.round_sums = round_function(module, tiling) if tiling.is_narrow else None
        self.parts = part_functions(module, tiling)
        self.singles = {}
        if not tiling.is_ordered:
            self.parts[LANES] = lanes_function(module, tiling)
            self.singles = single_functions(module, tiling)
        has_runs = tiling.element.is_float and tiling.word == 1
        self.runs = run_functions(module, tiling) if has_runs else []
        if tiling.element.is_float and not tiling.is_narrow:
            self.parts |= winograd_functions(module, tiling)
        self.null = Value(f, "null", PTR)
        self.zero = f.integer(0)
        mode = arguments(f, 3, 3)[2]
        f.branch(mode.differs(PRODUCT), lambda: self._part(mode))
        f.return_if(mode.differs(PRODUCT), self.zero)
        problem = read_problem(f, tiling.stored_bytes, WORKSPACE_BYTES)
        if not tiling.is_ordered:  # else A and B must not be swapped
            problem = transposed_if_column(problem, tiling.stored_bytes)
        self.problem = problem

    def write(self) -> None:
        f = self.f
        f.return_if((self.problem.m <= 0) | (self.problem.n <= 0), self.zero)
        depth = self._block_depth()
        if not self.dots:
            self._tiles(depth)
        else:
            f.branch(self._uses_dots(), self._dots, lambda: self._tiles(depth))
        f.ret(self.zero)

    def _block_depth(self) -> Value:
        """The depth of near-equal blocks of k, a function of k only."""
        f, k, limit = self.f, self.problem.k, self.tiling.depth

        def divide() -> list[Value]:
            count = f.binary("udiv", k + (limit - 1), limit)
            return [(f.binary("udiv", k + count - 1, count) + 15) & -16]

        return f.branch(k <= limit, lambda: [f.integer(limit)], divide)[0]

    # ------------------------------------------------------------- parts

    def _part(self, mode: Value) -> None:
        f = self.f
        for number, function in self.parts.items():
            f.branch(
                mode.equals(number), functools.partial(self._call, function, f.args)
            )
        for number in (TAPS, DOTS) if self.singles else ():
            f.branch(mode.equals(number), functools.partial(self._single, number))
        f.branch(mode.equals(MULTIPLY), self._multiply)
        f.branch(mode.equals(PACK_MATRIX), self._pack_matrix)
        if self.runs:
            f.branch(mode.equals(MULTIPLY_RUNS), self._multiply_runs)

    def _single(self, part: int) -> None:
        f, stored = self.f, self.tiling.stored_bytes
        (given,) = arguments(f, 2, 1)
        for step in STEPS:
            function = self.singles[part, step]
            f.branch(
                given.equals(step * stored),
                functools.partial(self._call, function, f.args),
            )

    def _pack_matrix(self) -> None:
        f = self.f
        target, source = arguments(f, 0, 2, PTR)
        k, n, wanted, width = arguments(f, 1, 4)
        matrix = Matrix(source, *arguments(f, 2, 2))

        def all_panels() -> None:
            for vectors in self.packs:
                f.branch(
                    wanted.equals(vectors),
                    functools.partial(self._pack, vectors, matrix, target, k, n),
                )

        def narrow_panels() -> None:
            args = [source, target, matrix.row, matrix.column, k, n, width]
            self._call(self.pack_panels, args)

        f.branch(width.equals(0), all_panels, narrow_panels)

    def _multiply(self) -> None:
        """Every panel of rows of A, packed or in place, times all panels of B."""
        row_bytes = self.tiling.vectors_of_a * self.tiling.vector_bytes
        row = arguments(self.f, 2, 4)[3]
        k, height = arguments(self.f, 1, 4)[2:]
        if self.tiling.always_packs:
            panel_bytes = self.tiling.panel_rows(k) * row_bytes
            self._multiply_rows(Layout.ROWS, self.f.integer(row_bytes), panel_bytes)
            return
        self.f.branch(
            row.equals(0),
            lambda: self._multiply_rows(
                Layout.ROWS, self.f.integer(row_bytes), k * row_bytes
            ),
            lambda: self._multiply_rows(Layout.DEPTH, row, height * row),
        )

    def _multiply_rows(self, layout: Layout, a_stride: Value, a_panel: Value) -> None:
        """The same for one layout of A; its panels are ``a_panel`` bytes apart."""
        f, tiling = self.f, self.tiling
        sums, a, b, bias = arguments(f, 0, 4, PTR)
        m, n, k, height = arguments(f, 1, 4)
        k = tiling.panel_rows(k)
        sums_row, bias_row, bias_column, _, b_row = arguments(f, 2, 5)
        accumulate = arguments(f, 3, 2)[1]
        width_bytes = tiling.width * tiling.element_bytes
        is_packed = b_row.equals(0)
        has_bias = bias.differs(self.null)

        def panel(row: Value, at: list[Value]) -> list[Value]:
            rows = f.minimum(m - row, height)
            here = Panel(
                a=at[0],
                a_stride=a_stride,
                b=b,
                b_row=f.select(is_packed, width_bytes, b_row),
                b_panel=f.select(is_packed, k * width_bytes, width_bytes),
                c=at[1],
                c_row=sums_row,
                n=n,
                k=k,
                accumulate=accumulate,
                bias=f.select(has_bias, at[2], self.null),
                bias_row=bias_row,
                bias_column=bias_column,
            )
            self._dispatch(self.panels[layout], 1, rows, here)
            steps = [a_panel, height * sums_row, height * bias_row]
            return [f.offset(x, step) for x, step in zip(at, steps, strict=True)]

        f.loop(0, m, height, [a, sums, bias], panel)

    def _multiply_runs(self) -> None:
        """Every panel of rows of A, packed, times one panel of B."""
        f, tiling = self.f, self.tiling
        sums, a, b, places = arguments(f, 0, 4, PTR)
        m, k, runs, height = arguments(f, 1, 4)
        sums_row, b_row = arguments(f, 2, 2)
        row_bytes = tiling.vectors_of_a * tiling.vector_bytes

        def panel(row: Value, at: list[Value]) -> list[Value]:
            here = Panel(
                a=at[0],
                a_stride=f.integer(row_bytes),
                b=b,
                b_row=b_row,
                b_panel=self.zero,
                c=at[1],
                c_row=sums_row,
                n=self.zero,
                k=k,
                accumulate=arguments(f, 3, 2)[1],
                bias=self.null,
                bias_row=self.zero,
                bias_column=self.zero,
            )
            rows = f.minimum(m - row, height)
            self._dispatch(self.runs, 1, rows, [*here, places, runs])
            steps = [runs * k * row_bytes, height * sums_row]
            return [f.offset(x, step) for x, step in zip(at, steps, strict=True)]

        f.loop(0, m, height, [a, sums], panel)

    # ------------------------------------------------------------- dot products

    def _uses_dots(self) -> Value:
        size = self.tiling.stored_bytes
        contiguous = self.problem.a.column.equals(size) & self.problem.b.row.equals(
            size
        )
        most = _DOT_GROUPS * len(dot_shapes(self.tiling))
        return (self.problem.m <= most) & contiguous

    def _dots(self) -> None:
        f, zero = self.f, self.zero
        is_row_major = [self.dots[shape] for shape in dot_shapes(self.tiling)]
        problem = self.problem
        adds = problem.bias.start.differs(self.null)
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
                    lambda: self._call(self.dots[SINGLE], panel),
                    lambda: self._dispatch(is_row_major, 1, rows, panel),
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
            adds = self.problem.bias.start.differs(self.null)
            region = Region(self.zero, column, self.problem.m, n, c, bias, adds)
            self._region(region, depth, packs_b)

        f.loop(0, self.problem.n, limit, [], columns)

    def _rounded_regions(
        self, column: Value, n: Value, depth: Value, packs_b: Value
    ) -> None:
        """Compute columns of C of a narrow dtype, some rows at a time, through sums in
        the workspace."""
        f, tiling = self.f, self.tiling
        assert self.round_sums is not None
        round_sums = self.round_sums
        size = tiling.element_bytes
        sums = Matrix(
            f.offset(self.problem.workspace, tiling.packed_bytes),
            f.integer(tiling.columns * size),
            f.integer(size),
        )
        no_bias = Matrix(self.null, self.zero, self.zero)

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
            self._call(round_sums, [*args, m, n])

        f.loop(0, self.problem.m, _NARROW_ROWS, [], rows)

    def _bias_or_null(self, row: Value, column: Value) -> Value:
        exists = self.problem.bias.start.differs(self.null)
        return self.f.select(exists, self.problem.bias.at(row, column).start, self.null)

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
            self._pack(self.tiling.vectors, b, self.problem.workspace, k, n)
            panel_bytes = self.tiling.panel_rows(k) * width_bytes
            return [self.problem.workspace, f.integer(width_bytes), panel_bytes]

        return f.branch(packs, pack, lambda: [b.start, b.row, f.integer(width_bytes)])

    def _pack(
        self,
        vectors: int,
        source: Matrix,
        target: Value,
        k: Value,
        n: Value,
    ) -> None:
        """Copy ``k`` rows of ``n`` columns into panels of ``vectors``."""
        f = self.f
        is_row_major, by_columns = self.packs[vectors]
        args = [source.start, target, source.row, source.column, k, n]
        f.branch(
            source.column.equals(self.tiling.stored_bytes),
            lambda: self._call(is_row_major, args),
            lambda: self._call(by_columns, args),
        )

    def _call(self, function: Function, args: Iterable[Value]) -> None:
        self.f.call(function, *args)

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
            self._pack(tiling.vectors_of_a, a.transposed(), target, block.k, rows)
            return [target, f.integer(tiling.vectors_of_a * tiling.vector_bytes)]

        def in_place() -> list[Value]:
            return [a.start, f.select(is_row_major, a.column, a.row)]

        start, stride = f.branch(packs_a, pack, in_place)
        rows_of_panel = tiling.panel_rows(block.k)
        panel = self._panel_arguments(block, row, start, stride, rows_of_panel)

        def dispatch(layout: Layout) -> None:
            self._dispatch(self.panels[layout], 1, rows, panel)

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
            bias=self.f.select(adds_bias, bias.start, self.null),
            bias_row=bias.row,
            bias_column=bias.column,
        )

    def _accumulates(self, block: Block) -> Value:
        if self.tiling.is_narrow:
            return block.row
        return block.row | self.problem.accumulate

    def _dispatch(
        self, functions: list[Function], first: int, rows: Value, panel: Sequence[Value]
    ) -> None:
        """Call the function for ``rows`` among ``functions``, which are for ``first``,
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
