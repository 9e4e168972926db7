"""The schedule of ``scan``: a block for each line, 256 elements at a time.

A tile is scanned in shared memory, each step combining elements that are 1, 2, 4...
apart, and then combined with the carry of the tiles before it: an order that depends on
the length alone. Sums and products of float32 are carried in float64, as on the CPU.
"""

from __future__ import annotations

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.codegen.kernel import Kernel, Scan
from pellucid_compiler.codegen.schedules.combine import Combine
from pellucid_compiler.codegen.schedules.scan import carry_dtype
from pellucid_compiler.gpu.builder import THREADS, GpuFunction, GpuModule
from pellucid_compiler.gpu.grid import Grid, Shape
from pellucid_compiler.ir.expr import cast
from pellucid_compiler.ir.traversal import without_partials


class _Tile:
    """The running combination of a block's values, one of each thread."""

    def __init__(self, f: GpuFunction, combine: Combine) -> None:
        self.function, self.combine = f, combine
        (self.identity,) = combine.identity(f, 1)
        self.width = self.identity.type.element_bytes
        self.memory = f.shared(THREADS * self.width)

    def _slot(self, thread: Value) -> Value:
        return self.function.offset(self.memory, thread * self.width)

    def scan(self, value: Value) -> tuple[Value, Value]:
        """The combination of this thread's value with those before it, and of all."""
        f, thread, distance = self.function, self.function.thread(), 1
        while distance < THREADS:
            f.barrier()  # the last readers are done
            f.write_shared(value, self._slot(thread))
            f.barrier()
            value = self._with_earlier(value, thread, distance)
            distance *= 2
        f.barrier()
        f.write_shared(value, self._slot(thread))
        f.barrier()
        last = self._slot(f.integer(THREADS - 1))
        return value, f.read_shared(last, self.identity.type)

    def _with_earlier(self, value: Value, thread: Value, distance: int) -> Value:
        f = self.function

        def combined() -> list[Value]:
            slot = self._slot(thread - distance)
            other = f.read_shared(slot, self.identity.type)
            return self.combine.step(f, [other], [value])

        (found,) = f.branch(thread >= distance, combined, lambda: [value])
        return found


def emit_scan(module: GpuModule, kernel: Kernel, form: Scan, shape: Shape) -> None:
    """A block a line; all its threads run every tile, as they meet at barriers."""
    g = Grid(module, kernel, shape)
    f, stored = g.function, range(shape.stored)
    line = range(shape.stored, shape.axes)
    dtype = carry_dtype(form)
    combine = Combine(form.combine, dtype)
    value = without_partials(cast(cast(form.value, form.accumulator), dtype))
    g.uniform.prepare(value)
    tile, length = _Tile(f, combine), g.count(line)

    def lifted(at: list[Value]) -> list[Value]:
        emitter = Emitter(f, 1, lambda e: g.load(e.attr, at[e.attr]), g.uniform)
        return combine.lift(f, emitter.value(value), None)

    def scanned(index: Value, _: list[Value]) -> None:
        starts = g.moved(g.pointers, g.coordinates(index, stored))

        def part(begin: Value, carried: list[Value]) -> list[Value]:
            point = begin + f.thread()
            at = g.moved(starts, g.coordinates(point, line))
            inside = point < length
            (own,) = f.branch(inside, lambda: lifted(at), lambda: [tile.identity])
            within, whole = tile.scan(own)
            (result,) = combine.step(f, carried, [within])
            number = g.first_output
            f.branch(
                inside,
                lambda: g.store(
                    number, at[number], combine.result(f, [result], None)[0], dtype
                ),
            )
            return combine.step(f, carried, [whole])

        f.loop(0, length, THREADS, [tile.identity], part)

    f.loop(f.block(), g.count(stored), f.blocks(), [], scanned)
    f.ret()
