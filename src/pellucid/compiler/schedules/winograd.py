"""Convolutions of 3x3 windows by Winograd's minimal filtering: four elements of C for
16 multiplications instead of 36.

C is cut into tiles of 2x2 elements, each of which reads 4x4 of the image. Tiles of
the image and the filters are transformed, so that a convolution becomes 16 matrix
products, one for each place of the transformed tiles; the 16 sums of a tile,
transformed once more, are its elements. With the transformations

    filter  G   = [1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1]
    image   B^T = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1]
    result  A^T = [1 1 1 0; 0 1 -1 -1]

a tile is A^T [sum over channels of (G g G^T) * (B^T d B)] A (A. Lavin and S. Gray,
"Fast Algorithms for Convolutional Neural Networks", 2016). An element depends on its
own window alone, and its error is that of a sum of the channels; but infinities meet
each other on the way, so the last part tells whether all it wrote is finite.

===================  ==========================================================
``WINOGRAD_FILTER``  data: target, source, nine int64: the offset of each tap's
                     values in the source, row by row. sizes: bytes of a tap's
                     values. strides: from one of the 16 places to the next.
                     Values stand side by side, whatever they are
``WINOGRAD_IMAGE``   data: target, the image's first element, a row of zeros. sizes:
                     channels, rows of tiles, tiles in a row, rows and columns of
                     the image, its row and column where the first tile begins.
                     strides: of a channel and a row of the image; of a place, a
                     channel and a row of tiles of the target
``WINOGRAD_RESULT``  data: C, the products, bias or null, an int64 that becomes 1 if
                     an element is not finite. sizes: channels, rows of tiles, tiles
                     in a row, rows and columns of C from there. strides: of a
                     channel and a row of C; of a place, a channel and a row of
                     tiles of the products; of a channel of the bias
===================  ==========================================================

Elements lie side by side in rows of the image and of C, tiles in rows of tiles. Parts
read and write whole vectors of tiles, so there is a vector behind the last. Zeros lie
beyond the image. The driver is ``runtime/kernels/winograd.h``; ``gemm_parts.py`` lists
the other parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pellucid.compiler.builder import I64, PTR, Function, Module, Value
from pellucid.compiler.schedules.gemm_parts import PARAMETERS, arguments
from pellucid.compiler.schedules.gemm_tile import Tiling

WINOGRAD_FILTER, WINOGRAD_IMAGE, WINOGRAD_RESULT = 12, 13, 14  # after gemm_single.py's

_TAPS = 3  # of a window
_TILE = 4  # elements of the image that a tile reads
_STEP = 2  # elements of C in a tile

Transform = Callable[[Function, Sequence[Value]], list[Value]]


def winograd_functions(module: Module, tiling: Tiling) -> dict[int, Function]:
    """The parts by mode."""
    writers: dict[int, Callable[[Function, Tiling], None]] = {
        WINOGRAD_FILTER: _write_filter,
        WINOGRAD_IMAGE: _write_image,
        WINOGRAD_RESULT: _write_result,
    }
    made = {}
    for mode, write in writers.items():
        f = module.function(f"part_{mode}", PARAMETERS, internal=True)
        write(f, tiling)
        f.ret()
        made[mode] = f
    return made


# ------------------------------------------------------------------ one dim


def _filter(f: Function, g: Sequence[Value]) -> list[Value]:
    outer = f.add(g[0], g[2])
    return [g[0], f.add(outer, g[1]) * 0.5, f.sub(outer, g[1]) * 0.5, g[2]]


def _image(f: Function, d: Sequence[Value]) -> list[Value]:
    return [f.sub(d[0], d[2]), f.add(d[1], d[2]), f.sub(d[2], d[1]), f.sub(d[1], d[3])]


def _result(f: Function, m: Sequence[Value]) -> list[Value]:
    return [f.add(f.add(m[0], m[1]), m[2]), f.sub(f.sub(m[1], m[2]), m[3])]


def _both_dims(
    f: Function, transform: Transform, rows: Sequence[Sequence[Value]]
) -> list[list[Value]]:
    """Transform the columns of a square of values, then the rows of what comes out."""
    columns = [transform(f, column) for column in zip(*rows, strict=True)]
    return [transform(f, row) for row in zip(*columns, strict=True)]


def _places(f: Function, start: Value, step: Value) -> list[Value]:
    """The addresses of the 16 places of a tile."""
    return [f.offset(start, step * i) for i in range(_TILE * _TILE)]


# ------------------------------------------------------------------ parts


def _write_filter(f: Function, tiling: Tiling) -> None:
    target, source, taps = arguments(f, 0, 3, PTR)
    (num_bytes,) = arguments(f, 1, 1)
    (place,) = arguments(f, 2, 1)
    offsets = [f.load(f.offset(taps, 8 * i), I64) for i in range(_TAPS * _TAPS)]

    def vector(done: Value, _: list[Value]) -> None:
        here = f.offset(source, done)
        values = [f.load(f.offset(here, x), tiling.vector) for x in offsets]
        rows = [values[i : i + _TAPS] for i in range(0, len(values), _TAPS)]
        made = [x for row in _both_dims(f, _filter, rows) for x in row]
        there = _places(f, f.offset(target, done), place)
        for value, address in zip(made, there, strict=True):
            f.store(value, address)

    f.loop(0, num_bytes, tiling.vector_bytes, [], vector)


def _write_image(f: Function, tiling: Tiling) -> None:
    target, image, zeros = arguments(f, 0, 3, PTR)
    channels, tile_rows, tiles, height, width, top, left = arguments(f, 1, 7)
    channel_step, row_step, place, to_channel, to_row = arguments(f, 2, 5)
    lanes, item = tiling.lanes, tiling.element_bytes
    nothing = f.constant(0, tiling.vector)

    def row_of_tiles(number: Value, _: list[Value]) -> None:
        first = top + number * _STEP
        rows, steps = [], []
        for i in range(_TILE):
            row = first + i
            is_inside = f.compare("ult", row, height)
            rows.append(f.select(is_inside, f.offset(image, row * row_step), zeros))
            steps.append(f.select(is_inside, channel_step, 0))
        start = f.offset(target, number * to_row)

        def vector(tile: Value, _: list[Value]) -> None:
            """The tiles of a vector: loads of the elements from ``column`` on, and from
            two later, give all that they read."""
            columns = [left + tile * _STEP + i for i in (0, lanes, 2, lanes + 2)]
            masks = [
                f.first_lanes(width - column, lanes) & ~f.first_lanes(-column, lanes)
                for column in columns
            ]

            def by_parity(row: Value) -> list[Value]:
                """Elements 0, 1, 2 and 3 of the row of each tile."""
                low, high, later, last = (
                    f.masked_load(f.offset(row, column * item), mask, nothing)
                    for column, mask in zip(columns, masks, strict=True)
                )
                even, odd = range(0, 2 * lanes, 2), range(1, 2 * lanes, 2)
                pairs = ((low, high), (later, last))
                return [
                    f.shuffle(*pair, take) for pair in pairs for take in (even, odd)
                ]

            def channel(_: Value, at: list[Value]) -> list[Value]:
                values = _both_dims(f, _image, [by_parity(row) for row in at[:_TILE]])
                made = [x for row in values for x in row]
                for value, address in zip(made, _places(f, at[-1], place), strict=True):
                    f.store(value, address)
                moved = [f.offset(x, s) for x, s in zip(at[:_TILE], steps, strict=True)]
                return [*moved, f.offset(at[-1], to_channel)]

            f.loop(0, channels, 1, [*rows, f.offset(start, tile * item)], channel)

        f.loop(0, tiles, lanes, [], vector)

    f.loop(0, tile_rows, 1, [], row_of_tiles)


def _write_result(f: Function, tiling: Tiling) -> None:
    c, products, bias, flag = arguments(f, 0, 4, PTR)
    channels, tile_rows, tiles, height, width = arguments(f, 1, 5)
    c_channel, c_row, place, from_channel, from_row, bias_step = arguments(f, 2, 6)
    lanes, item = tiling.lanes, tiling.element_bytes
    zero = f.constant(0, tiling.vector)
    has_bias = bias.differs(Value(f, "null", PTR))

    def vector(tile: Value, _: list[Value]) -> None:
        column = tile * _STEP
        masks = [f.first_lanes(width - column - i, lanes) for i in (0, lanes)]
        used = f.first_lanes(tiles - tile, lanes)

        def row_of_tiles(number: Value, seen: list[Value]) -> list[Value]:
            row = number * _STEP
            is_pair = (row + 1) < height
            to = f.offset(f.offset(c, row * c_row), column * item)
            start = f.offset(f.offset(products, number * from_row), tile * item)

            def store(values: list[Value], at: Value) -> None:
                for i, mask in enumerate(masks):
                    half = range(i * lanes // 2, (i + 1) * lanes // 2)
                    both = [lane + k * lanes for lane in half for k in range(_STEP)]
                    there = f.offset(at, i * lanes * item)
                    f.masked_store(f.shuffle(*values, both), there, mask)

            def channel(_: Value, at: list[Value]) -> list[Value]:
                values = [f.load(x, tiling.vector) for x in _places(f, at[0], place)]
                tile_sums = [values[i : i + _TILE] for i in range(0, 16, _TILE)]
                rows = _both_dims(f, _result, tile_sums)

                def add_bias() -> list[Value]:
                    one = f.splat(f.load(at[2], tiling.element), lanes)
                    return [f.add(x, one) for row in rows for x in row]

                plain = [x for row in rows for x in row]
                flat = f.branch(has_bias, add_bias, lambda: plain)
                bad = at[3]
                for x in flat:
                    bad = f.fma(x, zero, bad)
                store(flat[:_STEP], at[1])
                later = f.offset(at[1], c_row)
                f.branch(is_pair, lambda: store(flat[_STEP:], later))
                steps = [from_channel, c_channel, bias_step]
                moved = [f.offset(x, s) for x, s in zip(at[:3], steps, strict=True)]
                return [*moved, bad]

            return f.loop(0, channels, 1, [start, to, bias, seen[0]], channel)[3:]

        (seen,) = f.loop(0, tile_rows, 1, [zero], row_of_tiles)
        bad = f.any_lane(f.is_nan(f.select(used, seen, zero)))
        f.branch(bad, lambda: f.store(f.integer(1), flag))

    f.loop(0, tiles, lanes, [], vector)
