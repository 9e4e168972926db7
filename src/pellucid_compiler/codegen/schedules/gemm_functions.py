"""The functions that a GEMM kernel consists of, emitted once per kernel.

``gemm.py`` calls them for a whole product, ``gemm_modes.py`` for the parts of one that
C++ drivers run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pellucid_compiler.codegen.builder import I64, PTR, Function, Module, Value
from pellucid_compiler.codegen.schedules.gemm_dot import (
    SINGLE,
    dot_function,
    dot_shapes,
)
from pellucid_compiler.codegen.schedules.gemm_narrow import round_function
from pellucid_compiler.codegen.schedules.gemm_operands import Matrix
from pellucid_compiler.codegen.schedules.gemm_pack import (
    pack_columns,
    pack_panels,
    pack_rows,
)
from pellucid_compiler.codegen.schedules.gemm_parts import part_functions
from pellucid_compiler.codegen.schedules.gemm_runs import run_functions
from pellucid_compiler.codegen.schedules.gemm_single import (
    LANES,
    lanes_function,
    single_functions,
)
from pellucid_compiler.codegen.schedules.gemm_tile import Layout, panel_function
from pellucid_compiler.codegen.schedules.gemm_tiling import Tiling
from pellucid_compiler.codegen.schedules.winograd import winograd_functions


class GemmFunctions:
    """``f``, the kernel itself, and the functions that it calls, by what they are for.

    ``panels`` compute panels of 1, 2, ... rows of C, by the layout of A; ``dots`` are
    by shape, ``packs`` by the vectors of a panel; ``parts`` and ``singles`` are by the
    numbers of modes.
    """

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

    def call(self, function: Function, args: Iterable[Value]) -> None:
        """Call one of the functions, in a branch too."""
        self.f.call(function, *args)

    def pack(
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
            lambda: self.call(is_row_major, args),
            lambda: self.call(by_columns, args),
        )

    def dispatch(
        self, functions: list[Function], first: int, rows: Value, panel: Sequence[Value]
    ) -> None:
        """Call the function for ``rows`` among ``functions``, which are for ``first``,
        ``first + 1``, ... rows."""
        half = len(functions) // 2
        if half == 0:
            self.call(functions[0], panel)
            return
        low, high = functions[:half], functions[half:]
        self.f.branch(
            rows < first + half,
            lambda: self.dispatch(low, first, rows, panel),
            lambda: self.dispatch(high, first + half, rows, panel),
        )
