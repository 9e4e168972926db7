"""The schedule of ``rows``: several passes over each row, which stays in the cache.

Passes that do not depend on each other run in one *sweep* along the row; values that a
sweep maps and reads again stay in registers. A row's sums are sums of blocks' sums, so
that errors do not grow with its length. Called by ``generate.py``. Read next:
``streams.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field

from pellucid_compiler.codegen import elementary
from pellucid_compiler.codegen.builder import Module, Value
from pellucid_compiler.codegen.emit import Emitter
from pellucid_compiler.codegen.formats import convert
from pellucid_compiler.codegen.kernel import (
    Kernel,
    Pass,
    RowAdd,
    RowMap,
    RowReduce,
    Rows,
    RowStore,
    Tree,
    check_kernel,
)
from pellucid_compiler.codegen.schedules.access import load_run, open_kernel, store_run
from pellucid_compiler.codegen.schedules.combine import Combine, loop_in_groups
from pellucid_compiler.codegen.schedules.map import lane_bits, unroll_of
from pellucid_compiler.codegen.schedules.streams import Streams
from pellucid_compiler.codegen.targets.x86 import Target
from pellucid_compiler.ir.expr import Expr, cast, load, sym
from pellucid_compiler.ir.traversal import (
    loads,
    substitute,
    symbols,
    walk,
    without_partials,
)


@dataclass
class _Sweep:
    """The passes of one loop along the row; numbers per row are stored after it."""

    maps: list[RowMap] = field(default_factory=list)
    reduces: list[tuple[int, RowReduce]] = field(default_factory=list)
    adds: list[RowAdd] = field(default_factory=list)
    stores: list[RowStore] = field(default_factory=list)

    @property
    def values(self) -> list[Expr]:
        maps = [item.value for item in self.maps]
        adds = [item.value for item in self.adds]
        return maps + adds + [item.value for _, item in self.reduces]


def _value_of(kernel: Kernel, form: Rows, item: Pass) -> Expr:
    """The value of a pass in the dtype in which it is combined or stored. Inputs with
    one number per row are symbols, named ``n`` and their number.
    """
    if isinstance(item, RowReduce):
        dtype = item.accumulator
    else:
        dtype = kernel.outputs[item.output]
    value = without_partials(cast(item.value, dtype))
    numbers = {
        e: sym(f"n{e.attr}", e.dtype) for e in loads(value) if e.attr in form.per_row
    }
    return substitute(value, numbers)


def _sweeps(kernel: Kernel, form: Rows) -> list[_Sweep]:
    """The passes in as few loops as their dependences allow."""
    sweeps = [_Sweep()]
    made: set[str] = set()
    number = 0
    for original in form.passes:
        value = _value_of(kernel, form, original)
        needed = {str(e.attr) for e in symbols(value)}
        if isinstance(original, RowStore):
            sweeps[-1].stores.append(RowStore(value, original.output))
            continue
        if needed & made:
            sweeps.append(_Sweep())
            made = set()
        if isinstance(original, RowReduce):
            item = RowReduce(value, original.combine, original.accumulator)
            sweeps[-1].reduces.append((number, item))
            made.add(f"r{number}")
            number += 1
        elif isinstance(original, RowAdd):
            sweeps[-1].adds.append(RowAdd(value, original.output))
        else:
            sweeps[-1].maps.append(RowMap(value, original.output))
    return sweeps


def _store_expensive(kernel: Kernel, sweeps: list[_Sweep]) -> None:
    """Let an earlier sweep store in the output what the last map would recompute.

    Only if the last sweep then reads no input: an output may be an input's memory.
    """
    if len(sweeps) < 2 or len(sweeps[-1].maps) != 1 or sweeps[-1].reduces:
        return
    if any(sweep.adds for sweep in sweeps):
        return
    (item,) = sweeps[-1].maps
    if any(p.output == item.output for s in sweeps[:-1] for p in s.maps):
        return
    wanted = set(walk(item.value))
    for position, sweep in enumerate(sweeps[:-1]):
        for e in walk(*sweep.values):
            later = [v for s in sweeps[position + 1 :] for v in s.values]
            if e not in wanted or e.op not in elementary.FUNCTIONS or not loads(e):
                continue
            reused = load(len(kernel.inputs) + item.output, (), e.dtype)
            left = [substitute(value, {e: reused}) for value in later]
            reads = {x.attr for x in loads(*left)} - {reused.attr}
            if reads or e.dtype != kernel.outputs[item.output]:
                continue
            for other in sweeps[position + 1 :]:
                _substitute(other, e, reused)
            sweep.maps.append(RowMap(e, item.output))
            return


def _substitute(sweep: _Sweep, e: Expr, reused: Expr) -> None:
    """Replace ``e`` in every pass of the sweep."""
    replacement = {e: reused}
    sweep.maps = [
        RowMap(substitute(p.value, replacement), p.output) for p in sweep.maps
    ]
    sweep.reduces = [
        (k, RowReduce(substitute(p.value, replacement), p.combine, p.accumulator))
        for k, p in sweep.reduces
    ]


def _tree_of(form: Rows, sweeps: list[_Sweep]) -> tuple[int, list[int]]:
    """The bits of a lane, and the vectors that each sweep handles per iteration."""
    given = iter(form.tree.unrolls if form.tree else ())
    unrolls = [
        next(given) if form.tree and sweep.reduces else unroll_of(sweep.values)
        for sweep in sweeps
    ]
    if form.tree:
        return form.tree.bits, unrolls
    return lane_bits((), [v for sweep in sweeps for v in sweep.values]), unrolls


def tree_of(kernel: Kernel) -> Tree:
    """The order in which a kernel of this form combines elements."""
    assert isinstance(kernel.form, Rows)
    sweeps = _sweeps(kernel, kernel.form)
    _store_expensive(kernel, sweeps)
    bits, unrolls = _tree_of(kernel.form, sweeps)
    combining = zip(unrolls, sweeps, strict=True)
    return Tree(bits, tuple(n for n, sweep in combining if sweep.reduces))


class _RowsWriter:
    """One kernel: chooses the access and writes the sweeps of each row."""

    def __init__(self, module: Module, kernel: Kernel, form: Rows, target: Target):
        self.entry = entry = open_kernel(module, kernel, target)
        self.function, self.kernel = entry.function, kernel
        self.sweeps = _sweeps(kernel, form)
        _store_expensive(kernel, self.sweeps)
        values = [value for sweep in self.sweeps for value in sweep.values]
        bits, self.unrolls = _tree_of(form, self.sweeps)
        self.lanes = target.vector_bits // bits
        unroll = max(self.unrolls, default=1)
        self.uniform = entry.uniform()
        self.columns, self.rows = entry.size(0), entry.size(1)
        self.steps = entry.operand_strides(0, 2)
        self.row_steps = entry.operand_strides(1, 2)
        self.starts = entry.pointers()
        for e in symbols(*values, *(p.value for s in self.sweeps for p in s.stores)):
            if str(e.attr).startswith("p"):
                self.uniform.value(e)
        first = entry.num_inputs
        mapped = {first + p.output for s in self.sweeps for p in s.maps}
        added = {first + p.output for s in self.sweeps for p in s.adds}
        read = sorted({e.attr for e in loads(*values)} | added)
        written = sorted(mapped | added)
        self.streams = Streams(entry, read, written, self.steps, self.lanes, unroll)

    def write(self) -> None:
        """Emit separate loops for contiguous rows, without calls that spill
        registers.
        """
        f = self.function
        f.branch(
            self.streams.are_dense(),
            lambda: self._write_rows(copies=False),
            lambda: self._write_rows(copies=True),
        )
        f.ret(f.integer(0))

    def _write_rows(self, *, copies: bool) -> None:
        f = self.function

        def row(index: Value, _: list[Value]) -> None:
            pairs = zip(self.starts, self.row_steps, strict=True)
            at = [f.offset(start, index * step) for start, step in pairs]
            self.streams.begin_row(at)
            _Row(self, at, copies=copies).write()

        f.loop(0, self.rows, 1, [], row)


class _Row:
    """The code of one row: its sweeps, and the numbers per row computed so far."""

    def __init__(
        self, writer: _RowsWriter, at: Sequence[Value], *, copies: bool
    ) -> None:
        self.writer, self.streams, self.at = writer, writer.streams, at
        self.copies = copies
        self.function, self.lanes = writer.function, writer.lanes
        self.results: dict[str, tuple[Value, str]] = {}
        self.numbers = Emitter(self.function, 1, self._leaf)

    def _leaf(self, e: Expr) -> Value:
        """A number per row: an earlier result, a parameter, a per-row operand."""
        f = self.function
        if e.op == "load" or str(e.attr).startswith("n"):
            operand = e.attr if e.op == "load" else int(str(e.attr)[1:])
            place, dtype = self.at[operand], self.writer.entry.dtypes[operand]
            return load_run(f, self.writer.entry.target, place, dtype, 1)
        if str(e.attr) in self.results:
            value, dtype = self.results[str(e.attr)]
            return convert(f, value, dtype, e.dtype)
        return self.writer.uniform.value(e)

    def write(self) -> None:
        writer = self.writer
        for sweep, unroll in zip(writer.sweeps, writer.unrolls, strict=True):
            for value in sweep.values:
                self.numbers.prepare(value)
            if sweep.values:
                self._sweep(sweep, unroll)
            for item in sweep.stores:
                self._store_number(item)

    def _store_number(self, item: RowStore) -> None:
        entry = self.writer.entry
        value = self.numbers.value(item.value)
        place = self.at[entry.num_inputs + item.output]
        dtype = self.writer.kernel.outputs[item.output]
        store_run(self.function, entry.target, value, place, dtype)

    def _sweep(self, sweep: _Sweep, unroll: int) -> None:
        f, lanes = self.function, self.lanes
        combines = [Combine(p.combine, p.accumulator) for _, p in sweep.reduces]
        start = [c.identity(f, lanes)[0] for c in combines]
        count, step = self.writer.columns, lanes * unroll

        def whole(index: Value, carried: list[Value]) -> list[Value]:
            new: list[Value] = []
            for part in range(unroll):
                old = carried[part * len(start) : (part + 1) * len(start)]
                new += self._vector(sweep, combines, old, index, part, None)
            return new

        def rest(index: Value, old: list[Value]) -> list[Value]:
            left = f.minimum(count - index, lanes)
            return self._vector(sweep, combines, old, index, 0, left)

        loop = functools.partial(loop_in_groups, f, combines, start)
        if unroll == 1 and self.copies:  # one loop, to save code: such rows are slow
            totals = loop(count, lanes, rest)
        else:
            main = count & -step
            last = f.loop(main, count, lanes, start, rest)
            totals = loop(main, step, whole, others=last, parts=unroll)
        for (number, item), combine, total in zip(
            sweep.reduces, combines, totals, strict=True
        ):
            one = combine.result(f, combine.across_lanes(f, [total]), None)[0]
            self.results[f"r{number}"] = (one, item.accumulator)

    def _vector(
        self,
        sweep: _Sweep,
        combines: Sequence[Combine],
        accumulators: Sequence[Value],
        index: Value,
        part: int,
        left: Value | None,
    ) -> list[Value]:
        """Map and combine one vector of columns; returns the new accumulators."""
        f, first_output = self.function, self.writer.entry.num_inputs
        fresh: dict[int, Value] = {}

        def leaf(e: Expr) -> Value:
            if e.attr not in fresh:
                return self.streams.load(e.attr, index, part, left, copies=self.copies)
            return fresh[e.attr]

        emitter = Emitter(f, self.lanes, leaf, self.numbers)
        for item in sweep.maps:
            value = emitter.value(item.value)
            number = first_output + item.output
            fresh[number] = value
            self.streams.store(number, value, index, part, left, copies=self.copies)
        for added in sweep.adds:
            self._add(added, emitter.value(added.value), index, part, left)
        new = []
        for (_, reduce), combine, old in zip(
            sweep.reduces, combines, accumulators, strict=True
        ):
            lifted = combine.lift(f, emitter.value(reduce.value), None)
            stepped = combine.step(f, [old], lifted)
            if left is not None:
                mask = f.first_lanes(left, self.lanes)
                stepped = combine.select(f, mask, stepped, [old])
            new += stepped
        return new

    def _add(
        self, item: RowAdd, value: Value, index: Value, part: int, left: Value | None
    ) -> None:
        """Add a vector to the sums of its columns."""
        entry = self.writer.entry
        number = entry.num_inputs + item.output
        combine = Combine("sum", entry.dtypes[number])
        where, copies = (number, index, part, left), self.copies
        old = self.streams.load(*where, copies=copies)
        (new,) = combine.step(self.function, [old], [value])
        self.streams.store(number, new, index, part, left, copies=copies)


def emit_rows(module: Module, kernel: Kernel, form: Rows, target: Target) -> None:
    """Write the kernel's function into ``module``."""
    results = sum(isinstance(item, RowReduce) for item in form.passes)
    check_kernel(kernel, [item.value for item in form.passes], results)
    _RowsWriter(module, kernel, form, target).write()
