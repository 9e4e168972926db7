"""The operands of a GEMM kernel as tuples of run-time values: matrices, regions,
blocks.

``gemm.py`` loads its arguments with ``read_problem`` and passes these tuples around
while it writes the kernel.
"""

from __future__ import annotations

from typing import NamedTuple

from pellucid_compiler.codegen.builder import I64, PTR, Function, Value


class Matrix(NamedTuple):
    """The address of an element, and the strides from it in bytes."""

    start: Value
    row: Value
    column: Value

    def at(self, row: Value | None, column: Value | None) -> Matrix:
        """The submatrix whose first element is (``row``, ``column``)."""
        start, f = self.start, self.start.function
        if row is not None:
            start = f.offset(start, row * self.row)
        if column is not None:
            start = f.offset(start, column * self.column)
        return self._replace(start=start)

    def transposed(self) -> Matrix:
        return Matrix(self.start, self.column, self.row)

    def select(self, condition: Value, other: Matrix) -> Matrix:
        """``other`` where ``condition`` holds."""
        select = self.start.function.select
        return Matrix(
            *(select(condition, b, a) for a, b in zip(self, other, strict=True))
        )


class Region(NamedTuple):
    """A part of C: its position and extents, the matrix of its sums, and the bias,
    which tiles add if ``adds_bias``. The sums and the bias start at the region.
    """

    row: Value
    column: Value
    m: Value
    n: Value
    sums: Matrix
    bias: Matrix
    adds_bias: Value


class Block(NamedTuple):
    """A block of B for a region of C: its first row (a k), its height, and the address
    and strides of its panels."""

    region: Region
    row: Value
    k: Value
    is_last: Value
    b: Value
    b_row: Value
    b_panel: Value


class Problem(NamedTuple):
    """The arguments of the kernel."""

    m: Value
    n: Value
    k: Value
    c: Matrix
    a: Matrix
    b: Matrix
    bias: Matrix
    workspace: Value
    accumulate: Value


def read_problem(f: Function, item: int, workspace_bytes: int) -> Problem:
    """Load the arguments of the kernel ``f``, whose call ``gemm.py`` describes, for
    matrices of elements of ``item`` bytes."""
    data, sizes, strides, params = f.args

    def matrix(operand: int) -> Matrix:
        shape = ((m, n), (m, k), (k, n), (m, n))[operand]
        start = f.load(f.offset(data, 8 * operand), PTR)
        row = f.load(f.offset(strides, 16 * operand), I64)
        column = f.load(f.offset(strides, 16 * operand + 8), I64)
        box = tuple(zip(shape, (row, column), strict=True))
        return Matrix(f.bounded(start, operand, item, lambda: box), row, column)

    m, n, k = (f.load(f.offset(sizes, 8 * i), I64) for i in range(3))
    c, a, b, bias = map(matrix, range(4))
    workspace, accumulate = f.load(params, PTR), f.load(f.offset(params, 8), I64)
    whole = ((f.integer(workspace_bytes), f.integer(1)),)
    workspace = f.bounded(workspace, 4, 1, lambda: whole)
    return Problem(m, n, k, c, a, b, bias, workspace, accumulate)


def transposed_if_column(problem: Problem, element_bytes: int) -> Problem:
    """The same problem with a single contiguous column of C made a row:
    ``C^T = B^T A^T``."""
    f = problem.m.function
    bias, c = problem.bias, problem.c
    is_row = bias.row.equals(0) | bias.row.equals(element_bytes)
    is_column = problem.n.equals(1) & c.row.equals(element_bytes) & is_row
    return problem._replace(
        m=f.select(is_column, problem.n, problem.m),
        n=f.select(is_column, problem.m, problem.n),
        c=c.select(is_column, c.transposed()),
        a=problem.a.select(is_column, problem.b.transposed()),
        b=problem.b.select(is_column, problem.a.transposed()),
        bias=bias.select(is_column, bias.transposed()),
    )
