"""The output tiles of GEMM: functions that compute a panel of a few rows of C.

``gemm.py`` calls ``panel_function`` once per panel height and layout of A. The emitted
function loops over the columns of C one tile at a time. A tile's accumulators stay in
vector registers during the sum over k; elements of A are broadcast, rows of B are
vectors. Every tile adds its products in ascending k from zero, for any width, so an
element's bits do not depend on the tile that contains it. Read next: ``gemm.py``.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from pellucid_compiler.codegen.builder import I64, PTR, Function, Module, Type, Value
from pellucid_compiler.codegen.schedules.gemm_tiling import Tiling
from pellucid_compiler.codegen.schedules.gemm_words import (
    add_products,
    left_parts,
    right_parts,
)

# Steps of k per iteration of a full tile's loop.
UNROLL = 2

# The prefetch distance, in steps of k, of A and B for tiles with at least PREFETCH_SUMS
# accumulators. Panels of A and B evict each other from a 32 KiB L1 cache, and the
# hardware prefetcher alone is about a tenth slower.
PREFETCH_STEPS = 16
PREFETCH_SUMS = 12

# The prefetch distance, in cache lines, at which the first tile of a panel prefetches
# rows of A that are read in place, at the end those of the next panel. With more than
# PREFETCH_COLUMNS columns, prefetching costs more than it gains.
PREFETCH_LINES = 4
PREFETCH_COLUMNS = 64
CACHE_LINE = 64

# One entry per vector of a tile's row: the lanes inside C, or None for all.
Masks = list[Value | None]


class Layout(Enum):
    """Which index of A has stride one; the other stride is known at run time."""

    DEPTH = "depth"
    ROWS = "rows"


class Panel(NamedTuple):
    """The arguments of a panel function, in its parameter order.

    Strides in bytes: ``a_stride`` between rows of A (between k in ``Layout.ROWS``),
    ``b_row`` between rows of B, ``b_panel`` between the columns of tiles. ``k`` counts
    rows of the panels. ``accumulate`` is nonzero if C holds the sum over smaller k.
    ``bias`` is null without bias and before the last block of k; its column stride is 0
    or one element.
    """

    a: Value
    a_stride: Value
    b: Value
    b_row: Value
    b_panel: Value
    c: Value
    c_row: Value
    n: Value
    k: Value
    accumulate: Value
    bias: Value
    bias_row: Value
    bias_column: Value

    @staticmethod
    def parameters() -> list[tuple[str, Type]]:
        pointers = {"a", "b", "c", "bias"}
        return [(name, PTR if name in pointers else I64) for name in Panel._fields]


def panel_function(
    module: Module, tiling: Tiling, rows: int, layout: Layout
) -> Function:
    """Emit ``C[rows, n] (+)= A[rows, k] B[k, n] (+ bias)`` and return it."""
    name = f"panel_{layout.value}_{rows}"
    f = module.function(name, Panel.parameters(), internal=True)
    PanelWriter(f, tiling, rows, layout, Panel(*f.args)).write()
    return f


class PanelWriter:
    """Writes the body of one panel function."""

    def __init__(
        self, f: Function, tiling: Tiling, rows: int, layout: Layout, panel: Panel
    ) -> None:
        self.f = f
        self.tiling = tiling
        self.rows = rows
        self.layout = layout
        self.panel = panel
        self.prefetches_b = True
        self.a_ahead = panel.a_stride * PREFETCH_STEPS
        self.b_ahead = panel.b_row * PREFETCH_STEPS
        odd = range(1, rows, 2) if layout is Layout.DEPTH else ()
        self.odd_strides = {number: panel.a_stride * number for number in odd}

    def write(self) -> None:
        f, tiling, n = self.f, self.tiling, self.panel.n
        at = [f.integer(0), self.panel.b, self.panel.c, self.panel.bias]
        if wide := tiling.wide_vectors(self.rows):
            unpacked = self.panel.b_panel.equals(tiling.width * tiling.element_bytes)
            stop = f.select(unpacked, n, 0)
            at = self._full_tiles(at, stop, wide)
        at = self._full_tiles(at, n, tiling.vectors)
        left = n - at[0]
        whole: Masks = [None] * (tiling.vectors - 1)

        def edge() -> None:
            def narrow() -> None:
                self._tile(at, [f.first_lanes(left, tiling.lanes)])

            def broad() -> None:
                last = left - (tiling.vectors - 1) * tiling.lanes
                self._tile(at, [*whole, f.first_lanes(last, tiling.lanes)])

            f.branch(left <= tiling.lanes, narrow, broad)

        f.branch(left > 0, edge)
        f.ret()

    def _full_tiles(self, at: list[Value], stop: Value, vectors: int) -> list[Value]:
        """Compute all tiles of ``vectors`` that end at or before ``stop``; returns the
        next column and its addresses in B, C and the bias."""
        f, tiling = self.f, self.tiling
        width = vectors * tiling.lanes
        num_bytes = width * tiling.element_bytes

        def body(column: Value, inside: list[Value]) -> list[Value]:
            self._tile([column, *inside[1:]], [None] * vectors)
            steps = [
                self.panel.b_panel * (vectors // tiling.vectors),
                f.integer(num_bytes),
                self.panel.bias_column * width,
            ]
            moved = [f.offset(x, s) for x, s in zip(inside[1:], steps, strict=True)]
            return [column + width, *moved]

        return f.loop(at[0], stop - (width - 1), width, at, body)

    def _tile(self, at: list[Value], masks: Masks) -> None:
        """Compute the tile at ``at``: the column, the addresses in B, C and the
        bias.
        """
        addresses = self.addresses(at[2], self.panel.c_row, len(masks))
        for address in addresses:
            self.f.prefetch(address, write=True)
        zero = self.f.constant(0, self.tiling.vector)
        sums = [zero] * (self.rows * len(masks))
        sums = self.products(self.panel.a, at[1], sums, masks, at[0])[2:]
        sums = self.add_earlier(sums, addresses, masks)
        sums = self._add_bias(sums, at[3], masks)
        self.store(sums, addresses, masks)

    def store(self, sums: list[Value], addresses: list[Value], masks: Masks) -> None:
        """Write the tile to C."""
        for i, (value, address) in enumerate(zip(sums, addresses, strict=True)):
            mask = masks[i % len(masks)]
            if mask is None:
                self.f.store(value, address)
            else:
                self.f.masked_store(value, address, mask)

    def _load(
        self, address: Value, mask: Value | None, vector: Type | None = None
    ) -> Value:
        vector = vector or self.tiling.vector
        if mask is None:
            return self.f.load(address, vector)
        return self.f.masked_load(address, mask, self.f.constant(0, vector))

    # --------------------------------------------------------------- the sum over k

    def products(
        self,
        a: Value,
        b: Value,
        sums: list[Value],
        masks: Masks,
        column: Value | None = None,
    ) -> list[Value]:
        """Add the products of all k to the tile's sums, row by row; also returns the
        addresses in A and B after the last k. The tile at ``column`` 0 may prefetch
        A."""
        f, k = self.f, self.panel.k
        state = [a, b, *sums]
        done = f.integer(0)
        prefetches = self.layout is Layout.DEPTH and len(sums) >= PREFETCH_SUMS
        if column is not None and prefetches:
            streams = column.equals(0) & (self.panel.n <= PREFETCH_COLUMNS)
            whole = k & -(CACHE_LINE // self.tiling.element_bytes)
            done = f.select(streams, whole, 0)
            state = self._lines(done, state, masks)
        if masks[-1] is None:
            state = self._unrolled(done, k & -UNROLL, UNROLL, state, masks)
            done = k & -UNROLL
        return self._unrolled(done, k, 1, state, masks)

    def _lines(self, stop: Value, state: list[Value], masks: Masks) -> list[Value]:
        """Loop over whole cache lines of A's rows and prefetch later ones."""
        f, panel, size = self.f, self.panel, self.tiling.element_bytes
        line = CACHE_LINE // size
        ahead = PREFETCH_LINES * line
        next_panel = panel.a_stride * self.rows - panel.k * size

        def turns(first: Value, state: list[Value]) -> list[Value]:
            step = f.select((first + ahead) < panel.k, f.integer(0), next_panel)
            there = f.offset(f.offset(state[0], step), ahead * size)
            for row in range(self.rows):
                f.prefetch(f.offset(there, self._row_of_a(row)))
            return self._unrolled(f.integer(0), f.integer(line), UNROLL, state, masks)

        return f.loop(0, stop, line, state, turns)

    def _unrolled(
        self,
        start: Value,
        stop: Value,
        steps: int,
        state: list[Value],
        masks: Masks,
    ) -> list[Value]:
        """Loop over k, ``steps`` per iteration; carries addresses in A and B, and the
        sums."""
        f, panel = self.f, self.panel
        a_step: Value | int = self.tiling.element_bytes
        if self.layout is Layout.ROWS:
            a_step = panel.a_stride

        def turn(_: Value, state: list[Value]) -> list[Value]:
            a, b, *sums = state
            for _step in range(steps):
                sums = self._step(a, b, sums, masks)
                a, b = f.offset(a, a_step), f.offset(b, panel.b_row)
            return [a, b, *sums]

        return f.loop(start, stop, steps, state, turn, aligned=steps > 1)

    def _step(self, a: Value, b: Value, sums: list[Value], masks: Masks) -> list[Value]:
        """Add one column of A times one row of B."""
        f, tiling, vectors = self.f, self.tiling, len(masks)
        if self.layout is Layout.ROWS and self.rows * vectors >= PREFETCH_SUMS:
            self._prefetch(f.offset(a, self.a_ahead), tiling.vectors_of_a)
            if self.prefetches_b:
                self._prefetch(f.offset(b, self.b_ahead), vectors)
        row_of_b = [
            right_parts(
                tiling.factors,
                self._load(
                    f.offset(b, i * tiling.vector_bytes), mask, tiling.panel_vector
                ),
            )
            for i, mask in enumerate(masks)
        ]
        result = []
        for row in range(self.rows):
            place = f.offset(a, self._row_of_a(row))
            word = f.splat(f.load(place, tiling.panel_element), tiling.lanes)
            left = left_parts(tiling.factors, word)
            old = sums[row * vectors : (row + 1) * vectors]
            pairs = zip(row_of_b, old, strict=True)
            result += [add_products(tiling.factors, left, *pair) for pair in pairs]
        return result

    def _row_of_a(self, row: int) -> Value | int:
        """The offset of a row from the panel's first. In ``Layout.DEPTH`` it is an odd
        number of strides, held in a register, times a power of two that an addressing
        mode can scale by: the loop has no spare issue slots for address arithmetic."""
        if self.layout is Layout.ROWS or row == 0:
            return row * self.tiling.element_bytes
        scale = (row & -row).bit_length() - 1
        return self.odd_strides[row >> scale] << scale

    def _prefetch(self, address: Value, vectors: int) -> None:
        for line in range(0, vectors * self.tiling.vector_bytes, 64):
            self.f.prefetch(self.f.offset(address, line))

    # --------------------------------------------------------------- the epilogue

    def addresses(self, start: Value, row_step: Value, vectors: int) -> list[Value]:
        """The addresses of a tile's vectors, row by row."""
        f, step = self.f, self.tiling.vector_bytes
        rows = [start]
        for _ in range(1, self.rows):
            rows.append(f.offset(rows[-1], row_step))
        return [f.offset(row, i * step) for row in rows for i in range(vectors)]

    def add_earlier(
        self, sums: list[Value], addresses: list[Value], masks: Masks
    ) -> list[Value]:
        """Add what C holds, if it holds the sum over smaller k."""

        def add() -> list[Value]:
            return [
                self.f.add(value, self._load(address, masks[i % len(masks)]))
                for i, (value, address) in enumerate(zip(sums, addresses, strict=True))
            ]

        return self.f.branch(self.panel.accumulate.differs(0), add, lambda: sums)

    def _add_bias(self, sums: list[Value], bias: Value, masks: Masks) -> list[Value]:
        f, tiling, panel, vectors = self.f, self.tiling, self.panel, len(masks)
        addresses = self.addresses(bias, panel.bias_row, vectors)
        is_vector = panel.bias_column.differs(0)

        def add_vectors() -> list[Value]:
            return [
                f.add(value, self._load(address, masks[i % vectors]))
                for i, (value, address) in enumerate(zip(sums, addresses, strict=True))
            ]

        def add_scalars() -> list[Value]:
            result = []
            for i, value in enumerate(sums):
                first = addresses[i - i % vectors]
                one = f.splat(f.load(first, tiling.element), tiling.lanes)
                result.append(f.add(value, one))
            return result

        return f.branch(
            panel.bias.differs(Value(f, "null", PTR)),
            lambda: f.branch(is_vector, add_vectors, add_scalars),
            lambda: sums,
        )
