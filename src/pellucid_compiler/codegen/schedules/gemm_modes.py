"""The modes of a GEMM kernel: which function runs for which part of a product, with
which arguments.

``gemm_parts.py`` lists the parts and their arguments, which C++ drivers pass. Called by
``gemm.py``, whose own mode is the whole product.
"""

from __future__ import annotations

import functools

from pellucid_compiler.codegen.builder import PTR, Value
from pellucid_compiler.codegen.schedules.gemm_functions import GemmFunctions
from pellucid_compiler.codegen.schedules.gemm_operands import Matrix
from pellucid_compiler.codegen.schedules.gemm_parts import (
    MULTIPLY,
    PACK_MATRIX,
    PRODUCT,
    arguments,
)
from pellucid_compiler.codegen.schedules.gemm_runs import MULTIPLY_RUNS
from pellucid_compiler.codegen.schedules.gemm_single import DOTS, STEPS, TAPS
from pellucid_compiler.codegen.schedules.gemm_tile import Layout, Panel


def write_modes(functions: GemmFunctions) -> None:
    """Write what the kernel does, and returns from, unless its mode is PRODUCT."""
    f = functions.f
    mode = arguments(f, 3, 3)[2]
    f.branch(mode.differs(PRODUCT), lambda: _ModeWriter(functions).write(mode))
    f.return_if(mode.differs(PRODUCT), functions.zero)


class _ModeWriter:
    """Writes the calls of the parts."""

    def __init__(self, functions: GemmFunctions) -> None:
        self.functions = functions
        self.f, self.tiling = functions.f, functions.tiling

    def write(self, mode: Value) -> None:
        """Write a branch for each mode."""
        f = self.f
        for number, function in self.functions.parts.items():
            f.branch(
                mode.equals(number),
                functools.partial(self.functions.call, function, f.args),
            )
        for number in (TAPS, DOTS) if self.functions.singles else ():
            f.branch(mode.equals(number), functools.partial(self._single, number))
        f.branch(mode.equals(MULTIPLY), self._multiply)
        f.branch(mode.equals(PACK_MATRIX), self._pack_matrix)
        if self.functions.runs:
            f.branch(mode.equals(MULTIPLY_RUNS), self._multiply_runs)

    def _single(self, part: int) -> None:
        f, stored = self.f, self.tiling.stored_bytes
        (given,) = arguments(f, 2, 1)
        for step in STEPS:
            function = self.functions.singles[part, step]
            f.branch(
                given.equals(step * stored),
                functools.partial(self.functions.call, function, f.args),
            )

    def _pack_matrix(self) -> None:
        f = self.f
        target, source = arguments(f, 0, 2, PTR)
        k, n, wanted, width = arguments(f, 1, 4)
        matrix = Matrix(source, *arguments(f, 2, 2))

        def all_panels() -> None:
            for vectors in self.functions.packs:
                f.branch(
                    wanted.equals(vectors),
                    functools.partial(
                        self.functions.pack, vectors, matrix, target, k, n
                    ),
                )

        def narrow_panels() -> None:
            args = [source, target, matrix.row, matrix.column, k, n, width]
            self.functions.call(self.functions.pack_panels, args)

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
        has_bias = bias.differs(self.functions.null)

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
                bias=f.select(has_bias, at[2], self.functions.null),
                bias_row=bias_row,
                bias_column=bias_column,
            )
            self.functions.dispatch(self.functions.panels[layout], 1, rows, here)
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
                b_panel=self.functions.zero,
                c=at[1],
                c_row=sums_row,
                n=self.functions.zero,
                k=k,
                accumulate=arguments(f, 3, 2)[1],
                bias=self.functions.null,
                bias_row=self.functions.zero,
                bias_column=self.functions.zero,
            )
            rows = f.minimum(m - row, height)
            self.functions.dispatch(self.functions.runs, 1, rows, [*here, places, runs])
            steps = [runs * k * row_bytes, height * sums_row]
            return [f.offset(x, step) for x, step in zip(at, steps, strict=True)]

        f.loop(0, m, height, [a, sums], panel)
