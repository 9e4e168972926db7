"""The parts of a GEMM kernel, for drivers that pack the operands themselves.

``gemm.py``'s kernel computes a whole product of two matrices. A driver for many
products that share A, or for an operand without a 2-D layout (im2col without
materialising the windows of a convolution), calls these parts instead and decides what
to pack and when. A part is a mode of the same kernel, given in ``params[2]``; the
arguments are:

=================  ==========================================================
``DESCRIBE``       data: an array of int64 that receives the fields of
                   ``described``
``MULTIPLY``       data: sums, panels of A, panels of B, bias or null. sizes: m,
                   n, k, height of a panel of A. strides: of a row of the sums,
                   of a row and of a column of the bias, of a row of A read in
                   place, contiguous along k (0: A is packed; the dtype is not
                   narrow), of a row of B read in place (0: B is packed).
                   params[1]: whether to add to the sums
``PACK_MATRIX``    data: target, source. sizes: k, columns, vectors of a panel,
                   columns of a panel. strides: of k, of a column. Packs all
                   panels. Columns of a panel: 0 if they fill its vectors; else
                   it is a panel of A with contiguous columns
``PACK_COLUMNS``   data: target, source, k offsets. sizes: k, first and end lane,
                   bytes of a row of the target. The columns of these lanes are
                   contiguous; lane 0 is at the source. Lanes before the first
                   are unchanged; lanes from the end on become zero if the first
                   is 0
``PACK_WINDOWS``   the same for a zero-padded operand. data: target, source,
                   pairs (k offset, index of its lanes), lanes: one int64 each,
                   whose bits are the lanes that are inside
``PACK_DEPTH``     data: target, source, one offset per lane, pairs (offset,
                   length) of runs of contiguous k, all but the last of whole
                   words. sizes: runs, bytes of a row of the target
``PACK_PLACES``    the same for k that are not in runs. data: target, source, one
                   offset per lane, k offsets. sizes: k, bytes of a row of the
                   target
``FINISH``         data: C, sums, bias or null. sizes: m, n, slices. strides: of
                   rows of C, of the sums and of the bias, of a column of the
                   bias, of a slice. params[1]: whether to add to C. C is the sum
                   of all slices and the bias
=================  ==========================================================

Sums have the accumulator's dtype; so do panels, unless they hold words. Each packing
part except ``PACK_MATRIX`` packs one vector of columns of a panel per call. The driver
is ``runtime/products/packed_product.h``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from pellucid_compiler.abi.parts import DESCRIBED, PART
from pellucid_compiler.codegen.builder import (
    I1,
    I64,
    PTR,
    Function,
    Module,
    Type,
    Value,
)
from pellucid_compiler.codegen.formats import convert, to_memory
from pellucid_compiler.codegen.schedules.gemm_pack import (
    each_tail,
    load_bits,
    load_depth,
    load_wide,
    transpose_chunk,
    word_of,
)
from pellucid_compiler.codegen.schedules.gemm_tiling import Tiling

PRODUCT, DESCRIBE, MULTIPLY, PACK_COLUMNS, PACK_DEPTH, FINISH, PACK_MATRIX = (
    PART[name]
    for name in (
        *("product", "describe", "multiply", "pack_columns"),
        *("pack_depth", "finish", "pack_matrix"),
    )
)
PACK_WINDOWS, PACK_PLACES = PART["pack_windows"], PART["pack_places"]

PARAMETERS: list[tuple[str, Type]] = [
    ("data", PTR),
    ("sizes", PTR),
    ("strides", PTR),
    ("params", PTR),
]


Writers = dict[int, Callable[[Function, Tiling], None]]


def described(tiling: Tiling) -> tuple[int, ...]:
    """The tile and panel sizes that a driver needs."""
    return tuple(int(getattr(tiling, name)) for name in DESCRIBED)


def part_functions(module: Module, tiling: Tiling) -> dict[int, Function]:
    """The parts by mode, except for those that ``gemm.py`` writes itself."""
    writers: Writers = {
        DESCRIBE: _describe,
        PACK_COLUMNS: functools.partial(_pack_columns, windows=False),
        PACK_WINDOWS: functools.partial(_pack_columns, windows=True),
        PACK_DEPTH: _pack_depth,
        **({PACK_PLACES: _pack_places} if tiling.word > 1 else {}),
        FINISH: _finish,
    }
    return functions_of(module, tiling, writers)


def functions_of(
    module: Module, tiling: Tiling, writers: Writers
) -> dict[int, Function]:
    """A function for each mode, whose body its writer writes."""
    made = {}
    for mode, write in writers.items():
        f = module.function(f"part_{mode}", PARAMETERS, internal=True)
        write(f, tiling)
        f.ret()
        made[mode] = f
    return made


def arguments(f: Function, which: int, count: int, type_: Type = I64) -> list[Value]:
    """The first ``count`` entries of one of the kernel's arrays."""
    array = f.args[which]
    return [f.load(f.offset(array, 8 * i), type_) for i in range(count)]


def _describe(f: Function, tiling: Tiling) -> None:
    (target,) = arguments(f, 0, 1, PTR)
    for i, value in enumerate(described(tiling)):
        f.store(f.integer(value), f.offset(target, 8 * i))


def _pack_columns(f: Function, tiling: Tiling, *, windows: bool) -> None:
    target, source, offsets, *known = arguments(f, 0, 4 if windows else 3, PTR)
    k, first, end, step = arguments(f, 1, 4)
    before = f.first_lanes(first, tiling.lanes)
    inside = f.first_lanes(end, tiling.lanes) & ~before

    entry = 16 if windows else 8

    def element(entry: Value) -> Value:
        here = f.offset(source, f.load(entry, I64))
        lanes = inside
        for masks in known:
            place = f.load(f.offset(entry, 8), I64)
            lanes = lanes & _lanes(f, f.load(f.offset(masks, place), I64), tiling)
        load = load_wide if tiling.word == 1 else load_bits
        return load(tiling, here, tiling.lanes, lanes)

    def rows(write: Callable[[Value, Value], None]) -> None:
        def row(_: Value, at: list[Value], count: int = tiling.word) -> list[Value]:
            elements = [element(f.offset(at[0], i * entry)) for i in range(count)]
            value = elements[0] if tiling.word == 1 else word_of(tiling, elements)
            write(value, at[1])
            return [f.offset(at[0], tiling.word * entry), f.offset(at[1], step)]

        at = f.loop(0, k & -tiling.word, tiling.word, [offsets, target], row)
        each_tail(f, tiling, k, lambda count: row(k, at, count))

    f.branch(
        first.equals(0),
        lambda: rows(lambda value, to: f.store(value, to)),
        lambda: rows(lambda value, to: f.masked_store(value, to, inside)),
    )


def _lanes(f: Function, bits: Value, tiling: Tiling) -> Value:
    """The mask of the lanes whose bits are set."""
    narrow = f.convert("trunc", bits, f"i{tiling.lanes}")
    return f.bitcast(narrow, I1.with_lanes(tiling.lanes))


def _pack_depth(f: Function, tiling: Tiling) -> None:
    target, source, offsets, runs = arguments(f, 0, 4, PTR)
    num_runs, step = arguments(f, 1, 2)
    stored, word = tiling.stored_bytes, tiling.word
    words = 16 // tiling.element_bytes
    chunk = words * word
    places = [f.load(f.offset(offsets, 8 * i), I64) for i in range(tiling.lanes)]

    def run(_: Value, at: list[Value]) -> list[Value]:
        start = f.offset(source, f.load(at[0], I64))
        length = f.load(f.offset(at[0], 8), I64)
        columns = [f.offset(start, place) for place in places]

        def transposed(done: Value, mask: Value | None) -> list[Value]:
            def load(i: int) -> Value:
                return load_depth(tiling, f.offset(columns[i], done * stored), mask)

            return transpose_chunk(f, tiling, load)

        def whole(done: Value, to: list[Value]) -> list[Value]:
            for i, value in enumerate(transposed(done, None)):
                f.store(value, f.offset(to[0], step * i))
            return [f.offset(to[0], step * words)]

        done = length & -chunk
        (to,) = f.loop(0, done, chunk, [at[1]], whole)
        left = length - done

        def rest() -> None:
            rows = transposed(done, f.first_lanes(left, chunk))
            f.store(rows[0], to)
            for i, value in enumerate(rows[1 : (chunk - 2) // word + 1], 1):
                there = f.offset(to, step * i)
                f.branch(left > i * word, functools.partial(f.store, value, there))

        f.branch(left > 0, rest)
        return [f.offset(at[0], 16), f.offset(to, step * tiling.panel_rows(left))]

    f.loop(0, num_runs, 1, [runs, target], run)


def _pack_places(f: Function, tiling: Tiling) -> None:
    target, source, lane_offsets, offsets = arguments(f, 0, 4, PTR)
    k, step = arguments(f, 1, 2)
    columns = [
        f.offset(source, f.load(f.offset(lane_offsets, 8 * i), I64))
        for i in range(tiling.lanes)
    ]

    def row(_: Value, at: list[Value], count: int = tiling.word) -> list[Value]:
        places = [f.load(f.offset(at[0], 8 * i), I64) for i in range(count)]
        value = f.poison(tiling.panel_vector)
        for lane, column in enumerate(columns):
            elements = [load_bits(tiling, f.offset(column, x), 1) for x in places]
            value = f.insert(value, word_of(tiling, elements), lane)
        f.store(value, at[1])
        return [f.offset(at[0], 8 * tiling.word), f.offset(at[1], step)]

    at = f.loop(0, k & -tiling.word, tiling.word, [offsets, target], row)
    each_tail(f, tiling, k, lambda count: row(k, at, count))


def _finish(f: Function, tiling: Tiling) -> None:
    c, sums, bias = arguments(f, 0, 3, PTR)
    m, n, slices = arguments(f, 1, 3)
    c_row, sums_row, bias_row, bias_column, slice_step = arguments(f, 2, 5)
    has_bias = bias.differs(Value(f, "null", PTR))
    accumulates = arguments(f, 3, 2)[1].differs(0)

    def vector(at: list[Value], left: Value) -> None:
        mask = f.first_lanes(left, tiling.lanes)
        zero = f.constant(0, tiling.vector)

        def add_slice(_: Value, inside: list[Value]) -> list[Value]:
            more = f.masked_load(inside[0], mask, zero)
            return [f.offset(inside[0], slice_step), f.add(inside[1], more)]

        start = f.masked_load(at[1], mask, zero)
        _, total = f.loop(1, slices, 1, [f.offset(at[1], slice_step), start], add_slice)

        def load_bias() -> list[Value]:
            return [load_wide(tiling, at[2], tiling.lanes, mask)]

        def splat_bias() -> list[Value]:
            return [f.splat(load_wide(tiling, at[2], 1), tiling.lanes)]

        def add_bias() -> list[Value]:
            (value,) = f.branch(bias_column.differs(0), load_bias, splat_bias)
            return [f.add(total, value)]

        def add_earlier() -> list[Value]:
            return [f.add(total, load_wide(tiling, at[0], tiling.lanes, mask))]

        (total,) = f.branch(has_bias, add_bias, lambda: [total])
        (total,) = f.branch(accumulates, add_earlier, lambda: [total])
        value = convert(f, total, tiling.accumulator, tiling.dtype)
        f.masked_store(to_memory(f, value, tiling.dtype), at[0], mask)

    def row(_: Value, at: list[Value]) -> list[Value]:
        def columns(column: Value, inside: list[Value]) -> list[Value]:
            vector(inside, n - column)
            steps = [
                f.integer(tiling.lanes * tiling.stored_bytes),
                f.integer(tiling.vector_bytes),
                bias_column * tiling.lanes,
            ]
            return [f.offset(x, step) for x, step in zip(inside, steps, strict=True)]

        f.loop(0, n, tiling.lanes, at, columns)
        steps = [c_row, sums_row, bias_row]
        return [f.offset(x, step) for x, step in zip(at, steps, strict=True)]

    f.loop(0, m, 1, [c, sums, bias], row)
