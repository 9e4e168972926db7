"""GEMM with small M whose A and B are both contiguous along k, as dot products.

Output tiles would transpose all of B to use it once. Here vectors run along k, and each
element of C is a dot product whose lanes are added at the end, always by the same tree:
halves, then quarters, and so on. So an element's bits depend only on k, not on its
neighbours. ``gemm.py`` calls these functions if C has at most ``len(dot_shapes())``
rows, and ``SINGLE`` for one element. Read next: ``gemm_tile.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pellucid_compiler.codegen.builder import PTR, Function, Module, Value
from pellucid_compiler.codegen.formats import convert, to_memory
from pellucid_compiler.codegen.schedules.gemm_pack import load_bits, load_wide
from pellucid_compiler.codegen.schedules.gemm_tile import Panel
from pellucid_compiler.codegen.schedules.gemm_tiling import Tiling
from pellucid_compiler.codegen.schedules.gemm_words import (
    add_products,
    left_parts,
    right_parts,
)

Load = Callable[[Value], Value]

# Elements of k summed before a block's sum is added to C.
DOT_DEPTH = 4096


class DotShape(NamedTuple):
    """Rows and columns computed at a time, and vectors of k per iteration."""

    rows: int
    columns: int
    unroll: int = 1

    @property
    def size(self) -> int:
        return self.rows * self.columns


SINGLE = DotShape(1, 1, 8)


def dot_shapes(tiling: Tiling) -> list[DotShape]:
    """The shapes for one row, two rows, ..., as far as the registers suffice."""
    most_rows = 4 if tiling.rows > 6 else 2
    return [
        DotShape(rows, min(tiling.lanes, 8 if rows == 1 else 4))
        for rows in range(1, most_rows + 1)
    ]


def dot_function(module: Module, tiling: Tiling, shape: DotShape) -> Function:
    """Emit ``C[rows, n] (+)= A[rows, k] B[k, n] (+ bias)``. It takes a ``Panel`` with
    ``a_stride`` between rows of A and ``b_row`` between columns of B."""
    name = f"dot_{shape.rows}x{shape.columns}"
    f = module.function(name, Panel.parameters(), internal=True)
    _DotWriter(f, tiling, shape).write()
    return f


def lane_sums(vectors: list[Value]) -> Value:
    """The sum over the lanes of each vector, as one vector (a scalar for one vector).

    Lane ``i`` is first added to lane ``i + lanes / 2``, for any number of vectors,
    which is a power of two and at most the number of lanes.
    """
    f = vectors[0].function
    while vectors[0].type.lanes > len(vectors):
        half = vectors[0].type.lanes // 2
        vectors = [
            f.add(
                f.shuffle(v, None, range(half)),
                f.shuffle(v, None, range(half, 2 * half)),
            )
            for v in vectors
        ]
    parts = 1
    while len(vectors) > 1:
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [_add_halves(f, a, b, parts) for a, b in pairs]
        parts *= 2
    return vectors[0]


def _add_halves(f: Function, a: Value, b: Value, parts: int) -> Value:
    """Add the halves of each of the ``parts`` equal parts of ``a`` and of ``b``."""
    total = a.type.lanes
    part = total // parts
    low = [
        first + i
        for vector in (0, total)
        for first in range(vector, vector + total, part)
        for i in range(part // 2)
    ]
    high = [i + part // 2 for i in low]
    return f.add(f.shuffle(a, b, low), f.shuffle(a, b, high))


class _DotWriter:
    """Writes the body of one dot function."""

    def __init__(self, f: Function, tiling: Tiling, shape: DotShape) -> None:
        self.f = f
        self.tiling = tiling
        self.shape = shape
        self.panel = Panel(*f.args)

    def write(self) -> None:
        f, n, columns = self.f, self.panel.n, self.shape.columns

        def block(column: Value, _: list[Value]) -> None:
            last = n - column - 1
            sums = self._products(self._columns_of_b(column, last))
            mask = f.first_lanes(n - column, columns)
            for row in range(self.shape.rows):
                one_row = sums[row * columns : (row + 1) * columns]
                self._write_row(row, column, lane_sums(one_row), mask)

        f.loop(0, n, columns, [], block)
        f.ret()

    def _columns_of_b(self, column: Value, last: Value) -> list[Value]:
        """The addresses of a block's columns, clamped to the last column."""
        f, panel = self.f, self.panel
        first = f.offset(panel.b, column * panel.b_row)
        steps = (f.minimum(f.integer(i), last) for i in range(self.shape.columns))
        return [f.offset(first, panel.b_row * step) for step in steps]

    # --------------------------------------------------------------- the sum over k

    def _products(self, columns: list[Value]) -> list[Value]:
        """One vector of partial sums for each element of the block, row by row."""
        f, tiling, shape, k = self.f, self.tiling, self.shape, self.panel.k
        a = self.panel.a
        rows = [f.offset(a, self.panel.a_stride * i) for i in range(shape.rows)]
        zero = f.constant(0, tiling.vector)

        def add(at: Value, sums: list[Value], load: Load) -> list[Value]:
            here, kind = at * tiling.stored_bytes, tiling.factors
            left = [left_parts(kind, load(f.offset(row, here))) for row in rows]
            right = [right_parts(kind, load(f.offset(x, here))) for x in columns]
            products = [(x, y) for x in left for y in right]
            pairs = zip(products, sums, strict=True)
            return [add_products(kind, *p, s) for p, s in pairs]

        lanes = tiling.lanes * tiling.word

        def load_vector(address: Value) -> Value:
            return f.load(address, tiling.panel_vector)

        def load_last(address: Value) -> Value:
            bits = load_bits(tiling, address, lanes, mask)
            return f.bitcast(bits, tiling.panel_vector)

        def several(at: Value, sums: list[Value]) -> list[Value]:
            result = []
            for i in range(shape.unroll):
                old = sums[i * shape.size : (i + 1) * shape.size]
                result += add(at + i * lanes, old, load_vector)
            return result

        step = lanes * shape.unroll
        done = k & -step
        sums = f.loop(0, done, step, [zero] * (shape.size * shape.unroll), several)
        sums = _pairwise(f, sums, shape.size)
        if shape.unroll > 1:
            whole = k & -lanes
            sums = f.loop(
                done, whole, lanes, sums, lambda at, s: add(at, s, load_vector)
            )
            done = whole
        mask = f.first_lanes(k - done, lanes)
        return f.branch(k > done, lambda: add(done, sums, load_last), lambda: sums)

    # --------------------------------------------------------------- the epilogue

    def _write_row(self, row: int, column: Value, sums: Value, mask: Value) -> None:
        f, panel, tiling = self.f, self.panel, self.tiling
        size = tiling.stored_bytes
        address = f.offset(f.offset(panel.c, panel.c_row * row), column * size)
        (sums,) = f.branch(
            panel.accumulate.differs(0),
            lambda: [f.add(sums, self._load(address, sums, mask))],
            lambda: [sums],
        )
        sums = self._add_bias(row, column, sums, mask)
        sums = convert(f, sums, tiling.accumulator, tiling.dtype)
        sums = to_memory(f, sums, tiling.dtype)
        if sums.type.lanes == 1:
            f.store(sums, address)
        else:
            f.masked_store(sums, address, mask)

    def _load(self, address: Value, like: Value, mask: Value) -> Value:
        lanes = like.type.lanes
        return load_wide(self.tiling, address, lanes, mask if lanes > 1 else None)

    def _add_bias(self, row: int, column: Value, sums: Value, mask: Value) -> Value:
        f, panel = self.f, self.panel
        is_vector = panel.bias_column.differs(0)
        at = f.offset(panel.bias, panel.bias_row * row)
        at = f.offset(at, column * panel.bias_column)

        def load_one() -> list[Value]:
            return [f.splat(load_wide(self.tiling, at, 1), sums.type.lanes)]

        def add() -> list[Value]:
            (value,) = f.branch(
                is_vector, lambda: [self._load(at, sums, mask)], load_one
            )
            return [f.add(sums, value)]

        return f.branch(panel.bias.differs(Value(f, "null", PTR)), add, lambda: [sums])[
            0
        ]


def _pairwise(f: Function, sums: list[Value], size: int) -> list[Value]:
    """Add the accumulators of ``size`` elements: pair by pair."""
    while len(sums) > size:
        half = len(sums) // 2
        sums = [f.add(a, b) for a, b in zip(sums[:half], sums[half:], strict=True)]
    return sums
