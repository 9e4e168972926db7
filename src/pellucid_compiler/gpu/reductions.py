"""The schedules of ``reduce`` and ``rows``: a block for each result or row.

Every thread takes each 256th element; then lanes are combined by shuffles and warps by
shared memory, in one tree. So the bits depend on the length alone, neither on the grid
nor on the order in which warps run. Sums over rows (RowAdd) are each one thread's, over
the rows of a group in order, as on the CPU.
"""

from __future__ import annotations

from collections.abc import Sequence

from pellucid_compiler.abi.grid import WARP
from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.codegen.formats import convert
from pellucid_compiler.codegen.kernel import (
    Kernel,
    Reduce,
    RowAdd,
    RowMap,
    RowReduce,
    Rows,
)
from pellucid_compiler.codegen.schedules.combine import Combine
from pellucid_compiler.codegen.schedules.failures import failed_checks
from pellucid_compiler.gpu.builder import THREADS, GpuFunction, GpuModule
from pellucid_compiler.gpu.grid import Grid, Shape
from pellucid_compiler.ir.expr import Expr, cast
from pellucid_compiler.ir.traversal import symbols, without_checks, without_partials


class BlockCombine:
    """All threads' accumulators in one, in every thread."""

    def __init__(self, f: GpuFunction, width: int = 1) -> None:
        self.function = f
        self.memory = [f.shared(8 * THREADS // WARP) for _ in range(width)]

    def run(self, combine: Combine, accumulator: Sequence[Value]) -> list[Value]:
        f, warps = self.function, THREADS // WARP
        own = self._across_lanes(combine, accumulator, WARP)
        thread = f.thread()
        lane, warp = thread & (WARP - 1), f.binary("lshr", thread, 5)
        f.barrier()  # the last readers are done

        def write() -> None:
            for value, place in zip(own, self._slots(warp, own), strict=True):
                f.write_shared(value, place)

        f.branch(lane.equals(0), write)
        f.barrier()
        slots = self._slots(lane & (warps - 1), own)
        found = [
            f.read_shared(place, value.type)
            for value, place in zip(own, slots, strict=True)
        ]
        return self._across_lanes(combine, found, warps)

    def _slots(self, number: Value, values: Sequence[Value]) -> list[Value]:
        return [
            self.function.offset(memory, number * value.type.element_bytes)
            for memory, value in zip(self.memory, values, strict=False)
        ]

    def _across_lanes(
        self, combine: Combine, values: Sequence[Value], width: int
    ) -> list[Value]:
        while width > 1:
            width //= 2
            others = [self.function.shuffle_xor(value, width) for value in values]
            values = combine.step(self.function, values, others)
        return list(values)


def emit_reduce(module: GpuModule, kernel: Kernel, form: Reduce, shape: Shape) -> None:
    """A block a result."""
    combine = Combine(form.combine, form.accumulator)
    g = Grid(module, kernel, shape)
    f, stored = g.function, range(shape.stored)
    reduced = range(shape.stored, shape.axes)
    value = without_checks(without_partials(cast(form.value, form.accumulator)))
    dtypes = [form.accumulator, *["int64"] * combine.is_indexed]
    failures = failed_checks([form.value])
    for root in (value, *(condition for condition, _ in failures)):
        g.uniform.prepare(root)
    block, count = BlockCombine(f, combine.width), g.count(reduced)

    def result(index: Value, _: list[Value]) -> None:
        starts = g.moved(g.pointers, g.coordinates(index, stored))

        def element(point: Value, carried: list[Value]) -> list[Value]:
            at = g.moved(starts, g.coordinates(point, reduced))
            emitter = Emitter(f, 1, lambda e: g.load(e.attr, at[e.attr]), g.uniform)
            for condition, failure in failures:
                f.note_failure(emitter.value(condition), failure)
            place = point if combine.is_indexed else None
            return combine.step(
                f, carried, combine.lift(f, emitter.value(value), place)
            )

        identity = combine.identity(f, 1)
        own = f.loop(f.thread(), count, THREADS, identity, element)
        first = f.integer(0) if combine.is_indexed else None
        found = combine.result(f, block.run(combine, own), first)

        def write() -> None:
            for k, (whole, dtype) in enumerate(zip(found, dtypes, strict=True)):
                number = g.first_output + k
                g.store(number, starts[number], whole, dtype)

        f.branch(f.thread().equals(0), write)

    f.loop(f.block(), g.count(stored), f.blocks(), [], result)
    f.ret()


def emit_rows(module: GpuModule, kernel: Kernel, form: Rows, shape: Shape) -> None:
    """A block a row, or a group of rows where there are sums over rows."""
    _Rows(module, kernel, form, shape).write()


class _Rows:
    def __init__(
        self, module: GpuModule, kernel: Kernel, form: Rows, shape: Shape
    ) -> None:
        self.grid = g = Grid(module, kernel, shape)
        self.form, self.kernel = form, kernel
        self.stored = range(shape.stored)
        self.columns = range(shape.stored, shape.axes)
        self.adds = {p.output for p in form.passes if isinstance(p, RowAdd)}
        self.block = BlockCombine(g.function)
        for e in symbols(*(item.value for item in form.passes)):
            if str(e.attr).startswith("p"):
                g.uniform.value(e)

    def write(self) -> None:
        g = self.grid
        f, rows = g.function, g.count(self.stored)
        if not self.adds:
            f.loop(f.block(), rows, f.blocks(), [], lambda row, _: self._row(row, None))
            return f.ret()
        groups = g.named["groups"]
        size = f.binary("sdiv", rows + groups - 1, groups)

        def group(number: Value, _: list[Value]) -> None:
            last = f.minimum((number + 1) * size, rows)
            f.loop(number * size, last, 1, [], lambda row, _: self._row(row, number))

        f.loop(f.block(), groups, f.blocks(), [], group)
        return f.ret()

    def _row(self, row: Value, group: Value | None) -> None:
        """The passes one after the other: a thread reads what it wrote itself."""
        g = self.grid
        f = g.function
        starts = g.moved(g.pointers, g.coordinates(row, self.stored))
        for output in self.adds:
            assert group is not None
            number = g.first_output + output
            step = group * g.named[f"g{output}"]
            starts[number] = f.offset(starts[number], step)
        results: dict[str, tuple[Value, str]] = {}
        for item in self.form.passes:
            self._pass(item, starts, results)

    def _pass(
        self,
        item: RowReduce | RowMap | RowAdd | object,
        starts: Sequence[Value],
        results: dict[str, tuple[Value, str]],
    ) -> None:
        g = self.grid
        f = g.function

        def symbol(e: Expr) -> Value:
            if str(e.attr) in results:
                return convert(f, *results[str(e.attr)], e.dtype)
            return g.uniform.value(e)

        def value_at(e: Expr, at: Sequence[Value]) -> Value:
            def leaf(x: Expr) -> Value:
                return g.load(x.attr, at[x.attr]) if x.op == "load" else symbol(x)

            return Emitter(f, 1, leaf).value(without_partials(e))

        count = g.count(self.columns)
        if isinstance(item, RowReduce):
            combine = Combine(item.combine, item.accumulator)
            cast_value = cast(item.value, item.accumulator)

            def reduced(column: Value, carried: list[Value]) -> list[Value]:
                at = g.moved(starts, g.coordinates(column, self.columns))
                lifted = combine.lift(f, value_at(cast_value, at), None)
                return combine.step(f, carried, lifted)

            identity = combine.identity(f, 1)
            own = f.loop(f.thread(), count, THREADS, identity, reduced)
            whole = combine.result(f, self.block.run(combine, own), None)[0]
            results[f"r{len(results)}"] = (whole, item.accumulator)
            return
        number = g.first_output + item.output  # type: ignore[attr-defined]
        value: Expr = item.value  # type: ignore[attr-defined]
        if isinstance(item, (RowMap, RowAdd)):
            dtype = self.kernel.outputs[item.output]

            def mapped(column: Value, _: list[Value]) -> None:
                at = g.moved(starts, g.coordinates(column, self.columns))
                found = value_at(cast(value, dtype), at)
                if isinstance(item, RowAdd):
                    sum_ = Combine("sum", dtype)
                    found = sum_.step(f, [g.load(number, at[number])], [found])[0]
                g.store(number, at[number], found, dtype)

            f.loop(f.thread(), count, THREADS, [], mapped)
            return
        f.branch(
            f.thread().equals(0),
            lambda: g.store(
                number, starts[number], value_at(value, starts), value.dtype
            ),
        )
