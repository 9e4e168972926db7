"""The schedule of ``map``: threads take elements in turn, in a loop over the grid."""

from __future__ import annotations

from pellucid_compiler.codegen.builder import Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.codegen.kernel import Kernel, Map
from pellucid_compiler.codegen.schedules.map import computed_values, failures_of
from pellucid_compiler.gpu.builder import THREADS, GpuModule
from pellucid_compiler.gpu.grid import Grid, Shape


def emit_map(module: GpuModule, kernel: Kernel, form: Map, shape: Shape) -> None:
    """An element after the other; failures go to the status."""
    if shape.reduced:
        raise NotImplementedError("a map whose stores add to each other")
    g = Grid(module, kernel, shape)
    f, axes = g.function, range(shape.stored)
    values, failures = computed_values(form), failures_of(form)
    for root in (*values, *(condition for condition, _ in failures)):
        g.uniform.prepare(root)

    def element(index: Value, _: list[Value]) -> None:
        at = g.moved(g.pointers, g.coordinates(index, axes))
        emitter = Emitter(f, 1, lambda e: g.load(e.attr, at[e.attr]), g.uniform)
        for condition, failure in failures:
            f.note_failure(emitter.value(condition), failure)
        found = [emitter.value(value) for value in values]
        for k, (value, e) in enumerate(zip(found, values, strict=True)):
            number = g.first_output + k
            g.store(number, at[number], value, e.dtype)

    first = f.block() * THREADS + f.thread()
    f.loop(first, g.count(axes), f.blocks() * THREADS, [], element)
    f.ret()
