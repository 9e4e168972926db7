"""The schedule of ``reduce``: reduces runs of at most ``BLOCK`` elements to one each.

Strides select the method at run time: *row* if the reduced axis is contiguous (vectors
along it, several accumulators, then a fixed tree); *column* if the stored axis is
contiguous (one element per lane; float sums in groups of rows, to limit the growth of
rounding errors); otherwise *elements*, the row method on elements copied one by one,
with the same bits. Failed checks of the body are reported after all elements. An
expensive body is emitted at most twice: rows and elements share a loop. Called by
``generate.py``. Read next: ``combine.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from pellucid_compiler.codegen.builder import Module, Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.codegen.formats import convert
from pellucid_compiler.codegen.kernel import Kernel, Reduce, Tree, check_kernel
from pellucid_compiler.codegen.schedules.access import (
    Entry,
    open_kernel,
    store_run,
    store_strided,
)
from pellucid_compiler.codegen.schedules.combine import Combine, loop_in_groups
from pellucid_compiler.codegen.schedules.failures import Failures, failed_checks
from pellucid_compiler.codegen.schedules.map import lane_bits, unroll_of
from pellucid_compiler.codegen.schedules.streams import Streams
from pellucid_compiler.codegen.targets.x86 import Target
from pellucid_compiler.ir.expr import Expr, cast
from pellucid_compiler.ir.traversal import walk, without_checks, without_partials

Load = Callable[[int, Value, int, Value | None], Value]
"""``load(operand, index, part, left)``: vector ``part`` from element ``index`` on."""


class RowReduction:
    """One value per lane, combined along an axis in a fixed order."""

    def __init__(
        self,
        entry: Entry,
        combine: Combine,
        value: Expr,
        lanes: int,
        uniform: Emitter,
        tree: Tree | None = None,
    ) -> None:
        self.entry, self.combine, self.lanes = entry, combine, lanes
        self.function, self.uniform = entry.function, uniform
        bare = without_partials(cast(value, combine.dtype))
        self.value = without_checks(bare)
        self.failures = Failures(entry.function, failed_checks([bare]), lanes)
        self.unroll = tree.unrolls[0] if tree else unroll_of([self.value])

    def lifted(
        self, load: Load, index: Value, part: int, left: Value | None
    ) -> list[Value]:
        """The accumulator of the elements of one vector."""
        emitter = Emitter(
            self.function,
            self.lanes,
            lambda e: load(e.attr, index, part, left),
            self.uniform,
        )
        self.failures.check(emitter, left)
        value = emitter.value(self.value)
        position = index + self.lanes * part if self.combine.is_indexed else None
        return self.combine.lift(self.function, value, position)

    def along_row(self, load: Load, count: Value) -> list[Value]:
        """The accumulator of ``count`` elements, reduced to one lane."""
        f, combine, lanes = self.function, self.combine, self.lanes
        start = combine.identity(f, lanes)
        width = len(start)

        def whole(index: Value, carried: list[Value]) -> list[Value]:
            new: list[Value] = []
            for part in range(self.unroll):
                old = carried[part * width : (part + 1) * width]
                new += combine.step(f, old, self.lifted(load, index, part, None))
            return new

        def rest(index: Value, carried: list[Value]) -> list[Value]:
            left = f.minimum(count - index, lanes)
            new = combine.step(f, carried, self.lifted(load, index, 0, left))
            return combine.select(f, f.first_lanes(left, lanes), new, carried)

        loop = functools.partial(loop_in_groups, f, [combine], start)
        if self.unroll == 1:
            return combine.across_lanes(f, loop(count, lanes, rest))
        step = lanes * self.unroll
        main = count & -step
        last = f.loop(main, count, lanes, start, rest)
        total = loop(main, step, whole, others=last, parts=self.unroll)
        return combine.across_lanes(f, total)


def _lane_bits(form: Reduce, value: Expr) -> int:
    if form.tree:
        return form.tree.bits
    is_indexed = Combine(form.combine, form.accumulator).is_indexed
    return lane_bits((form.accumulator, "int32") if is_indexed else (), [value])


def tree_of(kernel: Kernel) -> Tree:
    """The order in which a kernel of this form combines elements."""
    form = kernel.form
    assert isinstance(form, Reduce)
    value = without_checks(without_partials(cast(form.value, form.accumulator)))
    unroll = form.tree.unrolls[0] if form.tree else unroll_of([value])
    return Tree(_lane_bits(form, value), (unroll,))


class _Reduction:
    """The three methods of one kernel."""

    def __init__(self, module: Module, kernel: Kernel, form: Reduce, target: Target):
        self.entry = entry = open_kernel(module, kernel, target)
        self.function = entry.function
        self.combine = Combine(form.combine, form.accumulator)
        value = without_partials(cast(form.value, form.accumulator))
        lanes = target.vector_bits // _lane_bits(form, without_checks(value))
        uniform = entry.uniform()
        for root in (without_checks(value), *(e for e, _ in failed_checks([value]))):
            uniform.prepare(root)
        self.row = RowReduction(
            entry, self.combine, form.value, lanes, uniform, form.tree
        )
        self.stored, self.reduced = entry.size(0), entry.size(1)
        self.stored_steps = entry.operand_strides(0, 2)
        self.reduced_steps = entry.operand_strides(1, 2)
        self.starts = entry.pointers()
        self.used = sorted({e.attr for e in walk(value) if e.op == "load"})
        self.first_index = None
        if self.combine.is_indexed:
            place = entry.function.offset(entry.params, 8 * (len(kernel.params) - 1))
            self.first_index = self.function.load(place, self.stored.type)

    def streams(self, steps: Sequence[Value]) -> Streams:
        lanes, unroll = self.row.lanes, self.row.unroll
        return Streams(self.entry, self.used, (), steps, lanes, unroll)

    def write(self) -> None:
        f = self.function
        rows = self.streams(self.reduced_steps)
        columns = self.streams(self.stored_steps)

        def by_columns_or_elements(*, columns_fit: Value) -> None:
            f.branch(
                columns_fit,
                lambda: self.by_columns(columns),
                lambda: self.by_rows(rows, copies=True),
            )

        if self.row.unroll == 1:
            fits = columns.are_dense() & ~rows.are_dense()
            by_columns_or_elements(columns_fit=fits)
        else:
            f.branch(
                rows.are_dense(),
                lambda: self.by_rows(rows, copies=False),
                lambda: by_columns_or_elements(columns_fit=columns.are_dense()),
            )
        f.ret(self.row.failures.status())

    def at(self, steps: Sequence[Value], index: Value) -> list[Value]:
        pairs = zip(self.starts, steps, strict=True)
        return [self.function.offset(p, index * s) for p, s in pairs]

    def results(self, accumulator: Sequence[Value]) -> list[Value]:
        """The values to store for an accumulator, in the outputs' register types."""
        found = self.combine.result(self.function, accumulator, self.first_index)
        dtypes = (self.combine.dtype, "int64")[: len(found)]
        return [
            convert(self.function, v, source, dtype)
            for v, source, dtype in zip(
                found, dtypes, self.entry.kernel.outputs, strict=True
            )
        ]

    def store_one(self, accumulator: Sequence[Value], at: Sequence[Value]) -> None:
        outputs = self.entry.kernel.outputs
        for k, (value, dtype) in enumerate(
            zip(self.results(accumulator), outputs, strict=True)
        ):
            place = at[self.entry.num_inputs + k]
            store_run(self.function, self.entry.target, value, place, dtype)

    def by_rows(self, streams: Streams, *, copies: bool) -> None:
        load = functools.partial(streams.load, copies=copies)

        def row(index: Value, _: list[Value]) -> None:
            at = self.at(self.stored_steps, index)
            streams.begin_row(at)
            self.store_one(self.row.along_row(load, self.reduced), at)

        self.function.loop(0, self.stored, 1, [], row)

    def by_columns(self, streams: Streams) -> None:
        f, lanes, unroll = self.function, self.row.lanes, self.row.unroll

        def whole(index: Value, _: list[Value]) -> None:
            self.column_chunk(streams, index, unroll, None)

        def rest(index: Value, _: list[Value]) -> None:
            left = f.minimum(self.stored - index, lanes)
            self.column_chunk(streams, index, 1, left)

        main: Value | int = 0
        if unroll > 1:
            main = self.stored & -(lanes * unroll)
            f.loop(0, main, lanes * unroll, [], whole)
        f.loop(main, self.stored, lanes, [], rest)

    def column_chunk(
        self, streams: Streams, column: Value, parts: int, left: Value | None
    ) -> None:
        """Reduce ``parts`` vectors of columns and store them."""
        f, combine, lanes = self.function, self.combine, self.row.lanes
        start = combine.identity(f, lanes)
        width = len(start)

        def row(index: Value, carried: list[Value]) -> list[Value]:
            streams.begin_row(self.at(self.reduced_steps, index))
            new: list[Value] = []
            for part in range(parts):
                old = carried[part * width : (part + 1) * width]
                lifted = self.lifted_column(streams, column, part, left, index)
                new += combine.step(f, old, lifted)
            return new

        total = loop_in_groups(
            f, [combine] * parts, start * parts, self.reduced, 1, row, levels=3
        )
        for part in range(parts):
            accumulator = total[part * width : (part + 1) * width]
            self.store_vector(accumulator, column + lanes * part, left)

    def lifted_column(
        self, streams: Streams, column: Value, part: int, left: Value | None, row: Value
    ) -> list[Value]:
        """The accumulator of one vector of a row; the index of every lane is the
        row.
        """
        f = self.function
        emitter = Emitter(
            f,
            self.row.lanes,
            lambda e: streams.load(e.attr, column, part, left, copies=False),
            self.row.uniform,
        )
        self.row.failures.check(emitter, left)
        value = emitter.value(self.row.value)
        if not self.combine.is_indexed:
            return self.combine.lift(f, value, None)
        value, numbers = self.combine.lift(f, value, f.integer(0))
        position = f.convert("trunc", row, numbers.type.element)
        return [value, f.splat(position, numbers.type.lanes)]

    def store_vector(
        self, accumulator: Sequence[Value], column: Value, left: Value | None
    ) -> None:
        f, entry = self.function, self.entry
        count = f.integer(self.row.lanes) if left is None else left
        at = self.at(self.stored_steps, column)
        outputs = entry.kernel.outputs
        for k, value in enumerate(self.results(accumulator)):
            number = entry.num_inputs + k
            step = self.stored_steps[number]
            store_strided(f, value, at[number], step, outputs[k], count)


def emit_reduce(module: Module, kernel: Kernel, form: Reduce, target: Target) -> None:
    """Write the kernel's function into ``module``."""
    check_kernel(kernel, [form.value])
    _Reduction(module, kernel, form, target).write()
