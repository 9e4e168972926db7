"""The schedule of ``scan``: running sums, products, maxima and minima.

Along a contiguous axis, a vector is scanned in its register (each step combines lanes
that are 1, 2, 4... apart) and then combined with the carry. If the other axis is
contiguous, lanes are independent scans. Other layouts are copied through the stack.
Sums and products of float32 are carried in float64, so a long scan is as accurate as a
short one. Called by ``generate.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pellucid_compiler.codegen.builder import Module, Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.codegen.formats import convert
from pellucid_compiler.codegen.kernel import Kernel, Scan, check_kernel
from pellucid_compiler.codegen.schedules.access import open_kernel
from pellucid_compiler.codegen.schedules.combine import Combine
from pellucid_compiler.codegen.schedules.map import lanes_of
from pellucid_compiler.codegen.schedules.streams import Streams
from pellucid_compiler.codegen.targets.x86 import Target
from pellucid_compiler.ir.expr import cast
from pellucid_compiler.ir.traversal import loads, without_partials

Load = Callable[[int], Value]


def carry_dtype(form: Scan) -> str:
    """The dtype of the carry."""
    rounds = form.combine in ("sum", "prod") and form.accumulator == "float32"
    return "float64" if rounds else form.accumulator


class _ScanWriter:
    """One kernel: its three methods share the step on a vector."""

    def __init__(self, module: Module, kernel: Kernel, form: Scan, target: Target):
        self.entry = entry = open_kernel(module, kernel, target)
        self.function = entry.function
        self.carry_dtype = carry_dtype(form)
        self.combine = Combine(form.combine, self.carry_dtype)
        value = cast(cast(form.value, form.accumulator), self.carry_dtype)
        self.value = without_partials(value)
        self.lanes = lanes_of(target, (self.carry_dtype,), [self.value])
        self.uniform = entry.uniform()
        self.uniform.prepare(self.value)
        self.length, self.outer = entry.size(0), entry.size(1)
        self.along, self.across = (entry.operand_strides(k, 2) for k in (0, 1))
        self.starts = entry.pointers()
        self.used = sorted({e.attr for e in loads(self.value)})
        self.output, self.out_dtype = entry.num_inputs, kernel.outputs[0]

    def write(self) -> None:
        f = self.function
        along, across = self._streams(self.along), self._streams(self.across)
        f.branch(
            across.are_dense() & ~along.are_dense(),
            lambda: self.across_axis(across),
            lambda: self.along_axis(along),
        )
        f.ret(f.integer(0))

    def _streams(self, steps: Sequence[Value]) -> Streams:
        return Streams(self.entry, self.used, (self.output,), steps, self.lanes, 1)

    def _at(self, steps: Sequence[Value], index: Value) -> list[Value]:
        pairs = zip(self.starts, steps, strict=True)
        return [self.function.offset(p, index * s) for p, s in pairs]

    def _lifted(self, load: Load) -> list[Value]:
        f = self.function
        emitter = Emitter(f, self.lanes, lambda e: load(e.attr), self.uniform)
        return self.combine.lift(f, emitter.value(self.value), None)

    def _result(self, accumulator: Sequence[Value]) -> Value:
        f = self.function
        value = self.combine.result(f, accumulator, None)[0]
        return convert(f, value, self.carry_dtype, self.out_dtype)

    def _prefixes(self, vector: list[Value]) -> list[Value]:
        """Each lane combined with all lanes before it."""
        f, lanes = self.function, self.lanes
        identity = self.combine.identity(f, lanes)
        distance = 1
        while distance < lanes:
            picked = [*range(lanes, lanes + distance), *range(lanes - distance)]
            before = [
                f.shuffle(v, start, picked)
                for v, start in zip(vector, identity, strict=True)
            ]
            vector = self.combine.step(f, before, vector)
            distance *= 2
        return vector

    def along_axis(self, streams: Streams) -> None:
        """One scan after another, in vectors."""
        f, lanes = self.function, self.lanes

        def vector(index: Value, carried: list[Value]) -> list[Value]:
            left = f.minimum(self.length - index, lanes)
            lifted = self._lifted(
                lambda k: streams.load(k, index, 0, left, copies=True)
            )
            carry = [f.splat(v, lanes) for v in carried]
            scanned = self.combine.step(f, carry, self._prefixes(lifted))
            result = self._result(scanned)
            streams.store(self.output, result, index, 0, left, copies=True)
            return [f.extract(v, lanes - 1) for v in scanned]

        def line(number: Value, _: list[Value]) -> None:
            streams.begin_row(self._at(self.across, number))
            f.loop(0, self.length, lanes, self.combine.identity(f, 1), vector)

        f.loop(0, self.outer, 1, [], line)

    def across_axis(self, streams: Streams) -> None:
        """One scan per lane."""
        f, lanes = self.function, self.lanes

        def adjacent_scans(first: Value, _: list[Value]) -> None:
            left = f.minimum(self.outer - first, lanes)

            def step(index: Value, carried: list[Value]) -> list[Value]:
                streams.begin_row(self._at(self.along, index))
                lifted = self._lifted(
                    lambda k: streams.load(k, first, 0, left, copies=False)
                )
                new = self.combine.step(f, carried, lifted)
                result = self._result(new)
                streams.store(self.output, result, first, 0, left, copies=False)
                return new

            f.loop(0, self.length, 1, self.combine.identity(f, lanes), step)

        f.loop(0, self.outer, lanes, [], adjacent_scans)


def emit_scan(module: Module, kernel: Kernel, form: Scan, target: Target) -> None:
    """Write the kernel's function into ``module``."""
    check_kernel(kernel, [form.value])
    _ScanWriter(module, kernel, form, target).write()
