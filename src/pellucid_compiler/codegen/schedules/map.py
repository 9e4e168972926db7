"""The schedule of ``map``: each output element from the inputs at the same index.

If all operands are dense, they are one run. Otherwise one loop serves operands that are
contiguous along the row or broadcast. With other strides, vectors are gathered and
scattered. That is impossible for elements of less than four bytes: few such operands
are copied through tiles, in blocks (cheap bodies) or a vector at a time; many are
processed element by element, since the driver stages most of them. An integer division
by zero, or a failed check of an element, is reported after all elements. Called by
``generate.py``. Read next: ``streams.py``, ``blocks.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from pellucid_compiler.abi.status import ZERO_DIVISION, status
from pellucid_compiler.codegen.builder import Module, Value
from pellucid_compiler.codegen.emit import Emitter, varying_nodes
from pellucid_compiler.codegen.formats import memory_type, widest_bits
from pellucid_compiler.codegen.kernel import Kernel, Map, check_kernel
from pellucid_compiler.codegen.schedules.access import (
    Entry,
    load_lanes,
    load_run,
    open_kernel,
    store_lanes,
    store_run,
)
from pellucid_compiler.codegen.schedules.blocks import Blocks
from pellucid_compiler.codegen.schedules.failures import Failures, failed_checks
from pellucid_compiler.codegen.schedules.streams import Run, Streams
from pellucid_compiler.codegen.targets.x86 import Target
from pellucid_compiler.ir.dtypes import is_float
from pellucid_compiler.ir.expr import SCALAR_OPS, Expr, const, make
from pellucid_compiler.ir.traversal import walk, without_checks, without_partials

_CHEAP, _MEDIUM = 8, 20
_INTERLEAVED = 256  # up to this cost, an iteration of a long body handles two vectors
_FEW_OPERANDS = 2  # at most so many are copied through tiles, to limit code size
_FREE = ("load", "const", "sym")


def _cost(e: Expr) -> int:
    """In additions; selects and conversions are like one."""
    row = SCALAR_OPS.get(e.op)
    return row.cost if row is not None else int(e.op not in _FREE)


def _cost_of(values: list[Expr]) -> int:
    return sum(map(_cost, walk(*values)))


def unroll_of(values: list[Expr]) -> int:
    """How many vectors an iteration handles: more, the cheaper the body. Reductions
    combine in this order.
    """
    cost = _cost_of(values)
    return 4 if cost <= _CHEAP else 2 if cost <= _MEDIUM else 1


def _interleaves(values: list[Expr]) -> bool:
    """Whether the ops of two vectors alternate: in long bodies, whose ops mostly wait
    for the one before. Processors overlap vectors on their own only within some tens of
    instructions.
    """
    return _MEDIUM < _cost_of(values) <= _INTERLEAVED


def lanes_of(target: Target, dtypes: tuple[str, ...], values: list[Expr]) -> int:
    """The lanes of one register for elements of ``lane_bits``."""
    return target.vector_bits // lane_bits(dtypes, values)


def lane_bits(dtypes: tuple[str, ...], values: list[Expr]) -> int:
    """The bits of the widest value computed in vectors.

    A few wide operations among many narrow ones (an int64 comparison in a float32
    exponential) use two registers instead. A vector of ``dtypes`` always fits one.
    """
    work: dict[int, int] = {}
    for e in varying_nodes(*values):
        bits = widest_bits([e.dtype, *(a.dtype for a in e.args)])
        work[bits] = work.get(bits, 0) + _cost(e)
    widest = max(widest_bits([*dtypes]), *work, 8)
    half = widest // 2
    if half >= widest_bits([*dtypes]) and work.get(half, 0) >= 4 * work[widest]:
        widest = half
    return widest


def divisors(values: list[Expr]) -> list[Expr]:
    """The divisors of integer divisions that are computed for every element."""
    found: dict[Expr, None] = {}
    seen: set[Expr] = set()
    left = list(values)
    while left:
        e = left.pop()
        if e in seen:
            continue
        seen.add(e)
        if e.op in ("floordiv", "mod", "fmod") and not is_float(e.dtype):
            divisor = e.args[1]
            if divisor.op != "const" or divisor.attr == 0:
                found[divisor] = None
        left += e.args[:1] if e.op == "select" else e.args
    return list(found)


def computed_values(form: Map) -> list[Expr]:
    """The values of a map without their checks."""
    return [without_checks(without_partials(value)) for value in form.values]


def failures_of(form: Map) -> list[tuple[Expr, int]]:
    """The conditions under which a map fails, and the status of each."""
    zeros = [make("eq", d, const(0, d.dtype)) for d in divisors(computed_values(form))]
    return [*((e, status(ZERO_DIVISION)) for e in zeros), *failed_checks(form.values)]


class _Body:
    """The vectors of one kernel: evaluates the outputs at an index and stores them."""

    def __init__(self, entry: Entry, form: Map) -> None:
        self.entry = entry
        self.function = entry.function
        found = failures_of(form)
        self.values = computed_values(form)
        roots = [*self.values, *(condition for condition, _ in found)]
        self.lanes = lanes_of(entry.target, entry.kernel.outputs, roots)
        self.is_long = _cost_of(roots) > _MEDIUM
        interleaves = _interleaves(roots)
        self.unroll = 2 if interleaves else unroll_of(roots)
        self.interleaved = varying_nodes(*self.values) if interleaves else []
        self.uniform = entry.uniform()
        self.used = sorted({e.attr for e in walk(*roots) if e.op == "load"})
        for root in roots:
            self.uniform.prepare(root)
        self.failures = Failures(self.function, found, self.lanes)

    def vector(self, load: Callable[[int], Value], left: Value | None) -> list[Value]:
        """One vector of each output, of which ``left`` lanes are active; ``load`` reads
        a vector of an input.
        """
        return self._outputs(self._emitter(load, self.lanes), left)

    def vectors(self, loads: list[Callable[[int], Value]]) -> list[list[Value]]:
        """One whole vector of each output per function of ``loads``."""
        emitters = [self._emitter(load, self.lanes) for load in loads]
        for e in self.interleaved:
            for emitter in emitters:
                emitter.value(e)
        return [self._outputs(emitter, None) for emitter in emitters]

    def element(self, load: Callable[[int], Value]) -> list[Value]:
        """One element of each output."""
        return self._outputs(self._emitter(load, 1), None)

    def _emitter(self, load: Callable[[int], Value], lanes: int) -> Emitter:
        return Emitter(self.function, lanes, lambda e: load(e.attr), self.uniform)

    def _outputs(self, emitter: Emitter, left: Value | None) -> list[Value]:
        self.failures.check(emitter, left)
        return [emitter.value(value) for value in self.values]


def emit_map(module: Module, kernel: Kernel, form: Map, target: Target) -> None:
    """Write the kernel's function into ``module``."""
    check_kernel(kernel, list(form.values))
    entry = open_kernel(module, kernel, target)
    f, body = entry.function, _Body(entry, form)
    inner, outer = entry.size(0), entry.size(1)
    steps, row_steps = entry.operand_strides(0, 2), entry.operand_strides(1, 2)
    starts = entry.pointers()
    outputs = [entry.num_inputs + k for k in range(len(kernel.outputs))]

    def rows(streams: Streams, *, copies: bool) -> None:
        def each(index: Value, _: list[Value]) -> None:
            pairs = zip(starts, row_steps, strict=True)
            streams.begin_row([f.offset(p, index * s) for p, s in pairs])
            load = functools.partial(streams.load, copies=copies)
            store = functools.partial(streams.store, copies=copies)
            _row(body, load, store, inner, in_parts=not copies)

        f.loop(0, outer, 1, [], each)

    def run() -> None:
        dense = Run(entry, starts, body.lanes)
        _row(body, dense.load, dense.store, inner, in_parts=True)

    copies_vectors = body.is_long and len(starts) <= _FEW_OPERANDS
    gathers = all(memory_type(d).element_bits in (32, 64) for d in entry.dtypes)

    def otherwise(streams: Streams) -> None:
        if gathers:
            _by_vectors(body)
        elif copies_vectors:
            rows(streams, copies=True)
        elif len(starts) <= _FEW_OPERANDS:
            Blocks(entry, body.used, body.lanes).write(body.vector)
        else:
            _by_elements(body)

    def general() -> None:
        streams = Streams(entry, body.used, outputs, steps, body.lanes, body.unroll)
        if copies_vectors and not gathers:
            return otherwise(streams)
        along = functools.partial(rows, streams, copies=False)
        f.branch(streams.are_dense(), along, lambda: otherwise(streams))

    if body.is_long:  # do not emit it twice
        general()
    else:
        f.branch(_is_run(entry, steps, [*body.used, *outputs], outer), run, general)
    f.ret(body.failures.status())


def _is_run(
    entry: Entry, steps: list[Value], operands: list[int], rows: Value
) -> Value:
    """Whether all operands are dense: one run of elements."""
    result = rows.equals(1)
    for k in operands:
        result = result & steps[k].equals(memory_type(entry.dtypes[k]).element_bytes)
    return result


def _by_vectors(body: _Body) -> None:
    """Process operands with any strides, vector by vector."""
    f, entry, lanes = body.function, body.entry, body.lanes
    dtypes, steps = entry.dtypes, entry.operand_strides(0, 2)

    def vector(at: list[Value], left: Value) -> None:
        mask = f.first_lanes(left, lanes)
        results = body.vector(
            lambda k: load_lanes(f, at[k], steps[k], mask, dtypes[k]), left
        )
        for k, result in enumerate(results, entry.num_inputs):
            store_lanes(f, result, at[k], steps[k], mask, dtypes[k])

    _each_place(body, lanes, vector)


def _by_elements(body: _Body) -> None:
    """Process operands with any strides, element by element."""
    f, entry = body.function, body.entry
    dtypes = entry.dtypes

    def one(at: list[Value], _: Value) -> None:
        results = body.element(lambda k: load_run(f, entry.target, at[k], dtypes[k], 1))
        for k, result in enumerate(results, entry.num_inputs):
            store_run(f, entry.target, result, at[k], dtypes[k])

    _each_place(body, 1, one)


def _each_place(
    body: _Body, width: int, write: Callable[[list[Value], Value], None]
) -> None:
    """Emit ``write(addresses, elements left)`` for every ``width`` elements of a
    row.
    """
    f, entry = body.function, body.entry
    starts, count = entry.pointers(), entry.size(0)
    steps, row_steps = entry.operand_strides(0, 2), entry.operand_strides(1, 2)

    def row(number: Value, _: list[Value]) -> None:
        first = [
            f.offset(p, number * s) for p, s in zip(starts, row_steps, strict=True)
        ]

        def place(index: Value, _: list[Value]) -> None:
            at = [f.offset(p, index * s) for p, s in zip(first, steps, strict=True)]
            write(at, f.minimum(count - index, width))

        f.loop(0, count, width, [], place)

    f.loop(0, entry.size(1), 1, [], row)


def _row(
    body: _Body,
    load: Callable[[int, Value, int, Value | None], Value],
    store: Callable[[int, Value, Value, int, Value | None], None],
    count: Value,
    *,
    in_parts: bool,
) -> None:
    """Process one row: whole vectors, ``parts`` at a time, then the remainder."""
    f, lanes = body.function, body.lanes

    def store_all(
        results: list[Value], index: Value, part: int, left: Value | None
    ) -> None:
        for k, result in enumerate(results, body.entry.num_inputs):
            store(k, result, index, part, left)

    def whole(index: Value, _: list[Value]) -> None:
        def load_part(part: int) -> Callable[[int], Value]:
            return lambda k: load(k, index, part, None)

        loads = [load_part(part) for part in range(body.unroll)]
        for part, results in enumerate(body.vectors(loads)):
            store_all(results, index, part, None)

    def rest(index: Value, _: list[Value]) -> None:
        left = f.minimum(count - index, lanes)
        results = body.vector(lambda k: load(k, index, 0, left), left)
        store_all(results, index, 0, left)

    main: Value | int = 0
    if in_parts and body.unroll > 1:
        step = lanes * body.unroll
        main = count & -step
        f.loop(0, main, step, [], whole)
    f.loop(main, count, lanes, [], rest)
