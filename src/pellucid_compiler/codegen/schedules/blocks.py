"""Maps over operands with any strides, in blocks of rows by one vector of columns.

Operands that are not dense along the row are copied into tiles that stay in the L1
cache, so that a transposed operand's cache lines are used whole. Called by
``schedules/map.py`` for cheap bodies; expensive ones copy a vector at a time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from pellucid_compiler.codegen.builder import I64, PTR, Function, Module, Type, Value
from pellucid_compiler.codegen.formats import memory_type
from pellucid_compiler.codegen.schedules.access import Entry, load_run, store_run

ROWS = 64

Body = Callable[[Callable[[int], Value], Value], list[Value]]
"""The outputs in one vector, given how to load an input and how many lanes are active.
"""


def _copy_function(module: Module, bits: int) -> Function:
    """Copy ``columns`` by ``rows`` elements; the axis with the smaller source step is
    the inner one.
    """
    element = Type(f"i{bits}")
    names = ("s_step", "s_row", "t_step", "t_row", "columns", "rows")
    f = module.function(
        f"copy_block{bits}",
        [("s", PTR), ("t", PTR), *((name, I64) for name in names)],
        internal=True,
    )
    source, target, s_step, s_row, t_step, t_row, columns, rows = f.args
    is_transposed = (s_row * s_row) < (s_step * s_step)
    inner, outer = (s_step, t_step, columns), (s_row, t_row, rows)
    in_source, in_target, in_count = (
        f.select(is_transposed, b, a) for a, b in zip(inner, outer, strict=True)
    )
    out_source, out_target, out_count = (
        f.select(is_transposed, a, b) for a, b in zip(inner, outer, strict=True)
    )

    def line(number: Value, _: list[Value]) -> None:
        from_line = f.offset(source, number * out_source)
        to_line = f.offset(target, number * out_target)

        def one(index: Value, _: list[Value]) -> None:
            value = f.load(f.offset(from_line, index * in_source), element)
            f.store(value, f.offset(to_line, index * in_target))

        f.loop(0, in_count, 1, [], one)

    f.loop(0, out_count, 1, [], line)
    f.ret()
    return f


class Blocks:
    """One kernel's operands in blocks; ``write`` emits the loops."""

    def __init__(self, entry: Entry, read: Sequence[int], lanes: int) -> None:
        self.entry, self.read, self.lanes = entry, read, lanes
        self.function = f = entry.function
        self.columns, self.rows = entry.size(0), entry.size(1)
        self.steps = entry.operand_strides(0, 2)
        self.row_steps = entry.operand_strides(1, 2)
        self.starts = entry.pointers()
        outputs = len(entry.kernel.outputs)
        self.written = [entry.num_inputs + k for k in range(outputs)]
        self._widths = [memory_type(d).element_bytes for d in entry.dtypes]
        used = [*read, *self.written]
        self._dense = {k: self.steps[k].equals(self._widths[k]) for k in used}
        self._tiles = {k: f.stack(ROWS * lanes * self._widths[k]) for k in used}
        self._tile_rows = {k: f.integer(lanes * self._widths[k]) for k in used}

    def write(self, body: Body) -> None:
        f = self.function

        def block(first: Value, _: list[Value]) -> None:
            rows = f.minimum(self.rows - first, ROWS)
            f.loop(
                0,
                self.columns,
                self.lanes,
                [],
                lambda index, _: self._chunk(body, first, rows, index),
            )

        f.loop(0, self.rows, ROWS, [], block)

    def _chunk(self, body: Body, first: Value, rows: Value, index: Value) -> None:
        f, target, dtypes = self.function, self.entry.target, self.entry.dtypes
        left = f.minimum(self.columns - index, self.lanes)
        apart = {
            k: f.offset(
                f.offset(self.starts[k], first * self.row_steps[k]),
                index * self.steps[k],
            )
            for k in self._tiles
        }
        for k in self.read:
            copy = functools.partial(self._copy, k, apart[k], left, rows, out=False)
            f.branch(~self._dense[k], copy)
        places = {
            k: (
                f.select(self._dense[k], apart[k], self._tiles[k]),
                f.select(self._dense[k], self.row_steps[k], self._tile_rows[k]),
            )
            for k in self._tiles
        }

        def row(number: Value, _: list[Value]) -> None:
            at = {k: f.offset(p, number * step) for k, (p, step) in places.items()}
            results = body(
                lambda k: load_run(f, target, at[k], dtypes[k], self.lanes, left), left
            )
            for k, result in zip(self.written, results, strict=True):
                store_run(f, target, result, at[k], dtypes[k], left)

        f.loop(0, rows, 1, [], row)
        for k in self.written:
            copy = functools.partial(self._copy, k, apart[k], left, rows, out=True)
            f.branch(~self._dense[k], copy)

    def _copy(
        self, k: int, apart: Value, columns: Value, rows: Value, *, out: bool
    ) -> None:
        f = self.function
        bits = memory_type(self.entry.dtypes[k]).element_bits
        copy = f.module.shared(
            f"copy_block{bits}", lambda: _copy_function(f.module, bits)
        )
        there = (apart, self.steps[k], self.row_steps[k])
        here = (self._tiles[k], f.integer(self._widths[k]), self._tile_rows[k])
        source, target = (here, there) if out else (there, here)
        pairs = [v for pair in zip(source, target, strict=True) for v in pair]
        s, t, s_step, t_step, s_row, t_row = pairs
        f.call(copy, s, t, s_step, s_row, t_step, t_row, columns, rows)
