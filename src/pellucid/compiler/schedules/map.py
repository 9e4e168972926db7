"""The schedule of ``map``: each output element from the inputs at the same place.

The strides decide at run time which of three loops runs: every operand dense along the
row; some inputs one number per row, the rest dense; or any strides, through the stack.
All compute the same vectors, so an element's bits do not depend on the loop.
Called by ``generate.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from pellucid.compiler.builder import I1, Module, Value
from pellucid.compiler.emit import Emitter, varying_nodes
from pellucid.compiler.formats import memory_type, widest_bits
from pellucid.compiler.kernel import Kernel, Map, check_kernel
from pellucid.compiler.schedules.access import (
    Entry,
    load_run,
    load_strided,
    open_kernel,
    store_run,
    store_strided,
)
from pellucid.compiler.schedules.streams import Streams
from pellucid.compiler.targets.x86 import Target
from pellucid.ir.expr import Expr, walk, without_partials

_CHEAP_NODES, _MEDIUM_NODES = 8, 16


def unroll_of(values: list[Expr]) -> int:
    """How many vectors an iteration handles: more of them the less each costs."""
    nodes = sum(1 for e in walk(*values) if e.op not in ("load", "const", "sym"))
    return 4 if nodes <= _CHEAP_NODES else 2 if nodes <= _MEDIUM_NODES else 1


def lanes_of(target: Target, dtypes: tuple[str, ...], values: list[Expr]) -> int:
    """As many lanes as the widest value computed in vectors has in one register."""
    varying = [e.dtype for e in varying_nodes(*values)]
    return target.vector_bits // widest_bits([*dtypes, *varying])


class _Body:
    """The vectors of one kernel: evaluates the outputs at an index and stores them."""

    def __init__(self, entry: Entry, form: Map) -> None:
        self.entry = entry
        self.function = entry.function
        self.values = [without_partials(value) for value in form.values]
        self.lanes = lanes_of(entry.target, entry.kernel.outputs, self.values)
        self.unroll = unroll_of(self.values)
        self.uniform = entry.uniform()
        self.used = sorted({e.attr for e in walk(*self.values) if e.op == "load"})
        for value in self.values:
            self.uniform.prepare(value)

    def vector(self, load: Callable[[int], Value]) -> list[Value]:
        """The outputs in one vector; ``load`` reads an input there."""
        emitter = Emitter(
            self.function, self.lanes, lambda e: load(e.attr), self.uniform
        )
        return [emitter.value(value) for value in self.values]


def emit_map(module: Module, kernel: Kernel, form: Map, target: Target) -> None:
    """Write the kernel's function into ``module``."""
    check_kernel(kernel, list(form.values))
    entry = open_kernel(module, kernel, target)
    f, body = entry.function, _Body(entry, form)
    inner, outer = entry.size(0), entry.size(1)
    steps, row_steps = entry.operand_strides(0, 2), entry.operand_strides(1, 2)
    starts = entry.pointers()
    streams = Streams(entry, body.used, steps, body.lanes, body.unroll)

    def rows(row: Callable[[list[Value]], None]) -> None:
        def each(index: Value, _: list[Value]) -> None:
            row(
                [f.offset(p, index * s) for p, s in zip(starts, row_steps, strict=True)]
            )

        f.loop(0, outer, 1, [], each)

    def repeated(at: list[Value]) -> None:
        streams.begin_row(at)
        _dense_row(body, at, inner, streams.load)

    def other_than_dense() -> None:
        f.branch(
            outputs_are_dense & streams.are_dense(or_repeated=True),
            lambda: rows(repeated),
            lambda: rows(lambda at: _strided_row(body, at, steps, inner)),
        )

    outputs_are_dense = _outputs_are_dense(entry, steps)
    f.branch(
        outputs_are_dense & streams.are_dense(or_repeated=False),
        lambda: rows(lambda at: _dense_row(body, at, inner, None)),
        other_than_dense,
    )
    f.ret(f.integer(0))


def _outputs_are_dense(entry: Entry, steps: list[Value]) -> Value:
    result = entry.function.constant(True, I1)
    for k, dtype in enumerate(entry.kernel.outputs, entry.num_inputs):
        result = result & steps[k].equals(memory_type(dtype).element_bytes)
    return result


def _dense_row(
    body: _Body,
    at: list[Value],
    count: Value,
    stream: Callable[[int, Value, int, Value | None], Value] | None,
) -> None:
    """One row with dense outputs; inputs come from ``stream``, or are dense too."""
    f, entry, lanes = body.function, body.entry, body.lanes
    dtypes = entry.dtypes

    def place(number: int, index: Value, part: int) -> Value:
        width = memory_type(dtypes[number]).element_bytes
        return f.offset(f.offset(at[number], index * width), part * lanes * width)

    def vector(index: Value, part: int, left: Value | None) -> list[Value]:
        def load(number: int) -> Value:
            if stream is not None:
                return stream(number, index, part, left)
            pointer = place(number, index, part)
            return load_run(f, entry.target, pointer, dtypes[number], lanes, left)

        return body.vector(load)

    def store(
        results: list[Value], index: Value, part: int, left: Value | None
    ) -> None:
        for k, result in enumerate(results, entry.num_inputs):
            pointer = place(k, index, part)
            store_run(f, entry.target, result, pointer, dtypes[k], left)

    def whole(index: Value, _: list[Value]) -> None:
        vectors = [vector(index, part, None) for part in range(body.unroll)]
        for part, results in enumerate(vectors):
            store(results, index, part, None)

    def rest(index: Value, _: list[Value]) -> None:
        left = f.minimum(count - index, lanes)
        store(vector(index, 0, left), index, 0, left)

    step = lanes * body.unroll
    main = count & -step
    f.loop(0, main, step, [], whole)
    f.loop(main, count, lanes, [], rest)


def _strided_row(
    body: _Body, at: list[Value], steps: list[Value], count: Value
) -> None:
    f, entry, lanes = body.function, body.entry, body.lanes

    def chunk(index: Value, _: list[Value]) -> None:
        left = f.minimum(count - index, lanes)

        def load(number: int) -> Value:
            pointer = f.offset(at[number], index * steps[number])
            dtype = entry.dtypes[number]
            return load_strided(f, pointer, steps[number], dtype, lanes, left)

        for k, result in enumerate(body.vector(load), entry.num_inputs):
            pointer = f.offset(at[k], index * steps[k])
            store_strided(f, result, pointer, steps[k], entry.dtypes[k], left)

    f.loop(0, count, lanes, [], chunk)
