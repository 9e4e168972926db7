"""GEMM with M = 1 whose B has no 2-D layout: single channels of a depthwise
convolution.

Nothing is packed. Of the three parts (``gemm_parts.py`` lists the others), one is
vectorised along the columns, one along k, and one along the channels (channels-last):

==========  =================================================================
``TAPS``    C[j] = sum over k of A[k] B[k, j], for rows of columns. data: C, A,
            B, bias (one number, or null), offsets in A, offsets in B: one per k.
            sizes: rows, columns, k. strides: of a column of B, of a row of C, of
            a row of B
``DOTS``    The same, for rows of k. data: C, A, B, offsets in A, offsets in B:
            one per row, offsets of the columns in B. sizes: rows, k in a row,
            columns. strides: of a k of B, of a column of C. params[1]: whether to add
            to C
``LANES``   C[j, lane] = sum over k of A[k, lane] B[k, j, lane]: one product per
            lane. data: C, A, B, offsets in A, offsets in B: one per k. sizes: j,
            lanes, k. strides: of a j of C, of a j of B. params[1]: whether to add to
            C, whose dtype is not narrow then
==========  =================================================================

Columns of C (``TAPS``) and k of A (``DOTS``) are contiguous; those of B have step 1 or
2. Lanes are contiguous in all operands of ``LANES``. Elements of ``TAPS`` and ``LANES``
add their products in the order of k; elements of ``DOTS`` add them per lane, and the
lanes by the tree of ``gemm_dot.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pellucid_compiler.abi.parts import PART
from pellucid_compiler.codegen.builder import I64, PTR, Function, Module, Value
from pellucid_compiler.codegen.formats import convert, to_memory
from pellucid_compiler.codegen.schedules.gemm_dot import lane_sums
from pellucid_compiler.codegen.schedules.gemm_pack import load_wide
from pellucid_compiler.codegen.schedules.gemm_parts import PARAMETERS, arguments
from pellucid_compiler.codegen.schedules.gemm_tiling import Tiling
from pellucid_compiler.codegen.schedules.gemm_words import multiply_add

TAPS, DOTS, LANES = PART["taps"], PART["dots"], PART["lanes"]

# Rows and vectors of a tile of TAPS, columns of a tile of DOTS, j of a tile of LANES:
# chosen for the frequent windows of nine (and, for LANES, three) taps.
_ROWS = 4
_VECTORS = 2
_COLUMNS = 9
_TOGETHER = 3

# Permitted steps of B, in elements.
STEPS = (1, 2)


def single_functions(module: Module, tiling: Tiling) -> dict[tuple[int, int], Function]:
    """The functions by part and step of B."""
    made = {}
    for part, write in ((TAPS, _taps), (DOTS, _dots)):
        for step in STEPS:
            name = f"{write.__name__.removeprefix('_')}_{step}"
            f = module.function(name, PARAMETERS, internal=True)
            write(f, tiling, step)
            f.ret()
            made[part, step] = f
    return made


def lanes_function(module: Module, tiling: Tiling) -> Function:
    """``LANES``."""
    f = module.function("lanes", PARAMETERS, internal=True)
    _lanes(f, tiling)
    f.ret()
    return f


class _Run:
    """A vector of elements of B that are ``step`` elements apart; ``left`` of its lanes
    are active. Masks are computed once, at construction."""

    def __init__(self, f: Function, tiling: Tiling, step: int, left: Value) -> None:
        self.tiling, self.step = tiling, step
        lanes = tiling.lanes
        self.lanes = f.first_lanes(left, lanes)
        reach = left * step - (step - 1)
        self.masks = [f.first_lanes(reach - i * lanes, lanes) for i in range(step)]

    def load(self, address: Value) -> Value:
        tiling, f = self.tiling, address.function
        num_bytes = tiling.lanes * tiling.stored_bytes
        parts = [
            load_wide(tiling, f.offset(address, i * num_bytes), tiling.lanes, mask)
            for i, mask in enumerate(self.masks)
        ]
        if self.step == 1:
            return parts[0]
        return f.shuffle(parts[0], parts[1], range(0, 2 * tiling.lanes, 2))


def _taps(f: Function, tiling: Tiling, step: int) -> None:
    c, a, b, bias, a_places, b_places = arguments(f, 0, 6, PTR)
    num_rows, n, k = arguments(f, 1, 3)
    _, c_row, b_row = arguments(f, 2, 3)
    lanes, stored = tiling.lanes, tiling.stored_bytes
    zero = f.constant(0, tiling.vector)
    has_bias = bias.differs(Value(f, "null", PTR))

    def number(address: Value) -> Value:
        return f.splat(load_wide(tiling, address, 1), lanes)

    (added,) = f.branch(has_bias, lambda: [number(bias)], lambda: [zero])

    def tile(c: Value, b: Value, runs: Sequence[_Run], rows: int) -> None:
        def tap(index: Value, sums: list[Value]) -> list[Value]:
            place = index * 8
            weight = number(f.offset(a, f.load(f.offset(a_places, place), I64)))
            start = f.offset(b, f.load(f.offset(b_places, place), I64))
            out = []
            for row in range(rows):
                for i, run in enumerate(runs):
                    here = f.offset(start, i * step * lanes * stored)
                    old = sums[row * len(runs) + i]
                    out.append(multiply_add(weight, run.load(here), old))
                start = f.offset(start, b_row)
            return out

        sums = f.loop(0, k, 1, [zero] * (rows * len(runs)), tap)
        sums = f.branch(has_bias, lambda: [f.add(x, added) for x in sums], lambda: sums)
        for row in range(rows):
            for i, run in enumerate(runs):
                value = sums[row * len(runs) + i]
                value = convert(f, value, tiling.accumulator, tiling.dtype)
                there = f.offset(c, i * lanes * stored)
                f.masked_store(to_memory(f, value, tiling.dtype), there, run.lanes)
            c = f.offset(c, c_row)

    def columns(column: Value, vectors: int) -> None:
        runs = [_Run(f, tiling, step, n - column - i * lanes) for i in range(vectors)]
        at = [f.offset(c, column * stored), f.offset(b, column * (step * stored))]

        def group(rows: int) -> Callable[[Value, list[Value]], list[Value]]:
            def body(_: Value, at: list[Value]) -> list[Value]:
                tile(at[0], at[1], runs, rows)
                return [f.offset(at[0], c_row * rows), f.offset(at[1], b_row * rows)]

            return body

        whole = num_rows & -_ROWS
        at = f.loop(0, whole, _ROWS, at, group(_ROWS))
        f.loop(whole, num_rows, 1, at, group(1))

    def block(column: Value, _: list[Value]) -> None:
        f.branch(
            (n - column) > lanes,
            lambda: columns(column, _VECTORS),
            lambda: columns(column, 1),
        )

    f.loop(0, n, _VECTORS * lanes, [], block)


def _dots(f: Function, tiling: Tiling, step: int) -> None:
    c, a, b, a_places, b_places, columns = arguments(f, 0, 6, PTR)
    num_rows, length, n = arguments(f, 1, 3)
    _, c_step = arguments(f, 2, 2)
    accumulate = f.load(f.offset(f.args[3], 8), I64)
    lanes, stored = tiling.lanes, tiling.stored_bytes
    zero = f.constant(0, tiling.vector)

    def block(first: Value, _: list[Value]) -> None:
        last = n - first - 1
        starts = [
            f.load(f.offset(columns, (first + f.minimum(f.integer(i), last)) * 8), I64)
            for i in range(_COLUMNS)
        ]

        def row(number: Value, sums: list[Value]) -> list[Value]:
            at = [
                f.offset(base, f.load(f.offset(places, number * 8), I64))
                for base, places in ((a, a_places), (b, b_places))
            ]

            def vector(k: Value, inside: list[Value]) -> list[Value]:
                run = _Run(f, tiling, step, length - k)
                left = load_wide(tiling, inside[0], lanes, run.lanes)
                moved = [
                    f.offset(inside[0], lanes * stored),
                    f.offset(inside[1], step * lanes * stored),
                ]
                added = [
                    multiply_add(left, run.load(f.offset(inside[1], start)), old)
                    for start, old in zip(starts, inside[2:], strict=True)
                ]
                return [*moved, *added]

            return f.loop(0, length, lanes, [*at, *sums], vector)[2:]

        sums = f.loop(0, num_rows, 1, [zero] * _COLUMNS, row)
        for i, vector in enumerate(sums):
            total = lane_sums([vector])
            there = f.offset(c, (first + i) * c_step)

            def write(total: Value = total, there: Value = there) -> None:
                (value,) = f.branch(
                    accumulate.differs(0),
                    lambda: [f.add(total, load_wide(tiling, there, 1))],
                    lambda: [total],
                )
                value = convert(f, value, tiling.accumulator, tiling.dtype)
                f.store(to_memory(f, value, tiling.dtype), there)

            f.branch((n - first) > i, write)

    f.loop(0, n, _COLUMNS, [], block)


def _lanes(f: Function, tiling: Tiling) -> None:
    c, a, b, a_places, b_places = arguments(f, 0, 5, PTR)
    num, n, k = arguments(f, 1, 3)
    c_step, b_step = arguments(f, 2, 2)
    accumulate = f.load(f.offset(f.args[3], 8), I64).differs(0)
    lanes, stored = tiling.lanes, tiling.stored_bytes
    zero = f.constant(0, tiling.vector)

    def tile(first: Value, at: Sequence[Value], masks: list[Value], count: int) -> None:
        """Compute ``count`` j at the addresses of C and B, for the lanes under the
        masks from byte ``first`` on.
        """
        left = f.offset(a, first)

        def products(index: Value, sums: list[Value]) -> list[Value]:
            factor = f.offset(left, f.load(f.offset(a_places, index * 8), I64))
            start = f.offset(at[1], f.load(f.offset(b_places, index * 8), I64))
            factors = vectors(factor, masks)
            out = []
            for j in range(count):
                for i, value in enumerate(vectors(start, masks)):
                    old = sums[j * len(masks) + i]
                    out.append(multiply_add(factors[i], value, old))
                start = f.offset(start, b_step)
            return out

        sums = f.loop(0, k, 1, [zero] * (count * len(masks)), products)
        there = at[0]
        for j in range(count):
            write(sums[j * len(masks) : (j + 1) * len(masks)], there, masks)
            there = f.offset(there, c_step)

    def vectors(address: Value, masks: list[Value]) -> list[Value]:
        return [
            load_wide(tiling, f.offset(address, i * lanes * stored), lanes, mask)
            for i, mask in enumerate(masks)
        ]

    def write(sums: list[Value], address: Value, masks: list[Value]) -> None:
        def added() -> list[Value]:
            pairs = zip(sums, vectors(address, masks), strict=True)
            return [f.add(value, earlier) for value, earlier in pairs]

        for i, value in enumerate(f.branch(accumulate, added, lambda: sums)):
            value = convert(f, value, tiling.accumulator, tiling.dtype)
            there = f.offset(address, i * lanes * stored)
            f.masked_store(to_memory(f, value, tiling.dtype), there, masks[i])

    def block(lane: Value, count: int) -> None:
        masks = [f.first_lanes(n - lane - i * lanes, lanes) for i in range(count)]
        first = lane * stored

        def group(together: int) -> Callable[[Value, list[Value]], list[Value]]:
            def body(_: Value, at: list[Value]) -> list[Value]:
                tile(first, at[1:], masks, together)
                steps = (c_step * together, b_step * together)
                moved = zip(at[1:], steps, strict=True)
                return [at[0] + together, *(f.offset(x, step) for x, step in moved)]

            return body

        at = [f.integer(0), f.offset(c, first), f.offset(b, first)]
        at = f.loop(0, num - (_TOGETHER - 1), _TOGETHER, at, group(_TOGETHER))
        f.loop(at[0], num, 1, at, group(1))

    def lane_block(lane: Value, _: list[Value]) -> None:
        f.branch(
            (n - lane) > lanes,
            lambda: block(lane, _VECTORS),
            lambda: block(lane, 1),
        )

    f.loop(0, n, _VECTORS * lanes, [], lane_block)
