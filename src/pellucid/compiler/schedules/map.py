"""The schedule of ``map``: each output element from the inputs at the same place.

The strides decide at run time which of three loops runs: every operand contiguous; one
input a single number per row, the rest contiguous; or any strides, through the stack.
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
from pellucid.compiler.targets.x86 import Target
from pellucid.ir.expr import Expr, walk, without_partials

_MOST_BROADCAST_VARIANTS = 3
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

    def rows(row: Callable[[list[Value]], None]) -> None:
        def each(index: Value, _: list[Value]) -> None:
            row(
                [f.offset(p, index * s) for p, s in zip(starts, row_steps, strict=True)]
            )

        f.loop(0, outer, 1, [], each)

    def choose(broadcasts: list[int | None]) -> None:
        if not broadcasts:
            rows(lambda at: _strided_row(body, at, steps, inner))
            return
        broadcast = broadcasts[0]
        f.branch(
            _layout_test(entry, body, steps, broadcast),
            lambda: rows(lambda at: _dense_row(body, at, inner, broadcast)),
            lambda: choose(broadcasts[1:]),
        )

    choose([None, *_broadcast_variants(body)])
    f.ret(f.integer(0))


def _broadcast_variants(body: _Body) -> list[int]:
    """The inputs that may each be one number per row while the rest are dense."""
    alone = len(body.used) < 2
    return [] if alone else body.used[:_MOST_BROADCAST_VARIANTS]


def _layout_test(
    entry: Entry, body: _Body, steps: list[Value], broadcast: int | None
) -> Value:
    """Whether every operand is dense along the row but ``broadcast``, which is 0."""
    f = entry.function
    result = f.constant(True, I1)
    for number, (step, dtype) in enumerate(zip(steps, entry.dtypes, strict=True)):
        if number < entry.num_inputs and number not in body.used:
            continue
        wanted = 0 if number == broadcast else memory_type(dtype).element_bytes
        result = result & step.equals(wanted)
    return result


def _dense_row(
    body: _Body, at: list[Value], count: Value, broadcast: int | None
) -> None:
    f, entry, lanes = body.function, body.entry, body.lanes
    dtypes = entry.dtypes
    numbers: dict[int, Value] = {}
    if broadcast is not None:
        one = load_run(f, entry.target, at[broadcast], dtypes[broadcast], 1)
        numbers[broadcast] = f.splat(one, lanes)

    def place(number: int, index: Value) -> Value:
        return f.offset(at[number], index * memory_type(dtypes[number]).element_bytes)

    def vector(index: Value, left: Value | None) -> list[Value]:
        def load(number: int) -> Value:
            if number in numbers:
                return numbers[number]
            pointer = place(number, index)
            return load_run(f, entry.target, pointer, dtypes[number], lanes, left)

        return body.vector(load)

    def store(results: list[Value], index: Value, left: Value | None) -> None:
        for k, result in enumerate(results, entry.num_inputs):
            store_run(f, entry.target, result, place(k, index), dtypes[k], left)

    def whole(index: Value, _: list[Value]) -> None:
        indices = [index + lanes * k for k in range(body.unroll)]
        vectors = [vector(i, None) for i in indices]
        for i, results in zip(indices, vectors, strict=True):
            store(results, i, None)

    def rest(index: Value, _: list[Value]) -> None:
        left = f.minimum(count - index, lanes)
        store(vector(index, left), index, left)

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
