"""Convolutions of 3x3 windows by Winograd's minimal filtering: four elements of C for
16 multiplications instead of 36.

C is divided into tiles of 2x2 elements, each of which reads 4x4 elements of the image.
The image tiles and the filters are transformed, so that a convolution becomes 16 matrix
products, one per element of the transformed tiles. Transforming the 16 sums of a tile
gives its elements. The gradient of the filters is another such product, of the same
image tiles with tiles of 2x2 gradients. With

    filter    G   = [1 0 0; 1/2 1/2 1/2; 1/2 -1/2 1/2; 0 0 1]
    image     B^T = [1 0 -1 0; 0 1 1 0; 0 -1 1 0; 0 1 0 -1]
    result    A^T = [1 1 1 0; 0 1 -1 -1]
    gradient  H   = [1 0; 1/2 1/2; 1/2 -1/2; 0 1]
    weight    E^T = [1 1 1 0; 0 1 -1 0; 0 1 1 -1]

a tile of C is A^T [sum over channels of (G g G^T) * (B^T d B)] A (A. Lavin and S. Gray,
"Fast Algorithms for Convolutional Neural Networks", 2016), and a filter's gradient is
E^T [sum over tiles of (H y H^T) * (B^T d B)] E. An element depends only on its own
window. Its error is relative to the largest products of the transformed window, not to
those that it sums. For taps of similar size it is that of a sum over the channels, but
if some taps are zero or tiny, errors of their neighbours become visible. Infinities
cancel to NaN in the transforms. So the parts report whether taps are uneven and whether
all results are finite.

=====================  ========================================================
``WINOGRAD_FILTER``    data: target, source, an int64 that is set to 1 if filters
                       are uneven: the largest value of a tap over the channels is
                       zero or far smaller than that of another tap. sizes:
                       channels, bytes of the values of a tap per channel, filters.
                       strides: between taps of the source, between the 16
                       positions of a tile
``WINOGRAD_IMAGE``     data: target, the image's first element, a row of zeros.
                       sizes: channels, rows of tiles, tiles in a row, rows and
                       columns of the image, row and column of the first tile in
                       it. strides: of a channel and a row of the image; of a
                       position, a channel and a row of tiles of the target
``WINOGRAD_GRADIENT``  the same for the tiles of 2x2 gradients
``WINOGRAD_RESULT``    data: C, the products, bias or null, an int64 that is set to
                       1 if an element is not finite. sizes: channels, rows of
                       tiles, tiles in a row, rows and columns of C from there.
                       strides: of a channel and a row of C; of a position, a
                       channel and a row of tiles of the products; of a channel of
                       the bias
``WINOGRAD_WEIGHT``    data: target, source, an int64 as for ``WINOGRAD_RESULT``.
                       sizes: bytes of the values of a position. strides: between
                       positions, between taps of the target
=====================  ========================================================

Elements are contiguous in rows of the image and of C, tiles in rows of tiles. Parts
read and write whole vectors of tiles, so buffers need a vector of padding at the end.
The image is zero-padded. The driver is ``runtime/products/winograd.h``;
``gemm_parts.py`` lists the other parts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from pellucid_compiler.abi.parts import PART, TILE_EXTENT, TILE_STEP, WINDOW_TAPS
from pellucid_compiler.codegen.builder import PTR, Function, Module, Value
from pellucid_compiler.codegen.schedules.gemm_parts import (
    Writers,
    arguments,
    functions_of,
)
from pellucid_compiler.codegen.schedules.gemm_tiling import Tiling

WINOGRAD_FILTER, WINOGRAD_IMAGE, WINOGRAD_GRADIENT, WINOGRAD_RESULT, WINOGRAD_WEIGHT = (
    PART[f"winograd_{name}"]
    for name in ("filter", "image", "gradient", "result", "weight")
)

_TAPS, _TILE, _STEP = WINDOW_TAPS, TILE_EXTENT, TILE_STEP

# Taps are even if their magnitudes differ by at most this factor: transformed tiles
# hold sums of taps, whose rounding errors are relative to the largest. Halves of
# subnormal numbers would lose digits.
_EVEN = 64
_TINY = 2.0**-100

Transform = Callable[[Function, Sequence[Value]], list[Value]]


def winograd_functions(module: Module, tiling: Tiling) -> dict[int, Function]:
    """The parts by mode."""
    writers: Writers = {
        WINOGRAD_FILTER: _write_filter,
        WINOGRAD_IMAGE: functools.partial(_write_tiles, transform=_image, reach=_TILE),
        WINOGRAD_GRADIENT: functools.partial(
            _write_tiles, transform=_gradient, reach=_STEP
        ),
        WINOGRAD_RESULT: _write_result,
        WINOGRAD_WEIGHT: _write_weight,
    }
    return functions_of(module, tiling, writers)


# ------------------------------------------------------------------ one dim


def _filter(f: Function, g: Sequence[Value]) -> list[Value]:
    outer = f.add(g[0], g[2])
    return [g[0], f.add(outer, g[1]) * 0.5, f.sub(outer, g[1]) * 0.5, g[2]]


def _image(f: Function, d: Sequence[Value]) -> list[Value]:
    return [f.sub(d[0], d[2]), f.add(d[1], d[2]), f.sub(d[2], d[1]), f.sub(d[1], d[3])]


def _result(f: Function, m: Sequence[Value]) -> list[Value]:
    return [f.add(f.add(m[0], m[1]), m[2]), f.sub(f.sub(m[1], m[2]), m[3])]


def _gradient(f: Function, y: Sequence[Value]) -> list[Value]:
    return [y[0], f.add(y[0], y[1]) * 0.5, f.sub(y[0], y[1]) * 0.5, y[1]]


def _weight(f: Function, m: Sequence[Value]) -> list[Value]:
    inner = f.add(m[1], m[2])
    return [f.add(m[0], inner), f.sub(m[1], m[2]), f.sub(inner, m[3])]


def _both_dims(
    f: Function, transform: Transform, values: Sequence[Value]
) -> list[Value]:
    """Transform the columns of a square of values, given row by row, then the rows of
    the result."""
    extent = math.isqrt(len(values))
    columns = [transform(f, values[i::extent]) for i in range(extent)]
    return [x for row in zip(*columns, strict=True) for x in transform(f, row)]


def _places(f: Function, start: Value, step: Value, count: int) -> list[Value]:
    """The addresses of ``count`` positions of a tile, or taps."""
    return [f.offset(start, step * i) for i in range(count)]


def _not_finite(f: Function, values: Sequence[Value], seen: Value) -> Value:
    """``seen``: zero, or NaN in lanes where a value was not finite."""
    zero = f.constant(0, seen.type)
    for value in values:
        seen = f.fma(value, zero, seen)
    return seen


def _set_flag(f: Function, lanes: Value, flag: Value) -> None:
    """Set the flag if any lane is set."""
    f.branch(f.any_lane(lanes), lambda: f.store(f.integer(1), flag))


# ------------------------------------------------------------------ parts


def _write_filter(f: Function, tiling: Tiling) -> None:
    target, source, flag = arguments(f, 0, 3, PTR)
    channels, step, filters = arguments(f, 1, 3)
    tap, place = arguments(f, 2, 2)
    zero = f.constant(0, tiling.vector)

    def greater(a: Value, b: Value) -> Value:
        return f.select(a > b, a, b)

    def lanes(first: Value, _: list[Value]) -> None:
        def channel(_: Value, at: list[Value]) -> list[Value]:
            here, there, *greatest = at
            places = _places(f, here, tap, _TAPS**2)
            taps = [f.load(x, tiling.vector) for x in places]
            made = _both_dims(f, _filter, taps)
            for value, x in zip(made, _places(f, there, place, _TILE**2), strict=True):
                f.store(value, x)
            sizes = [f.unary("fabs", x) for x in taps]
            greatest = [greater(*pair) for pair in zip(sizes, greatest, strict=True)]
            return [f.offset(here, step), f.offset(there, step), *greatest]

        start = [f.offset(source, first), f.offset(target, first)]
        sizes = f.loop(0, channels, 1, [*start, *[zero] * _TAPS**2], channel)[2:]
        most = functools.reduce(greater, sizes)
        is_even = f.constant(1, most.type.with_element("i1"))
        for size in sizes:
            is_even = is_even & (size * _EVEN >= most) & (size >= _TINY)
        left = filters - f.binary("udiv", first, tiling.element_bytes)
        used = f.first_lanes(left, tiling.lanes)
        _set_flag(f, ~is_even & (most > 0) & used, flag)

    f.loop(0, step, tiling.vector_bytes, [], lanes)


def _write_weight(f: Function, tiling: Tiling) -> None:
    target, source, flag = arguments(f, 0, 3, PTR)
    (num_bytes,) = arguments(f, 1, 1)
    place, tap = arguments(f, 2, 2)

    def vector(done: Value, seen: list[Value]) -> list[Value]:
        here = _places(f, f.offset(source, done), place, _TILE**2)
        there = _places(f, f.offset(target, done), tap, _TAPS**2)
        made = _both_dims(f, _weight, [f.load(x, tiling.vector) for x in here])
        for value, address in zip(made, there, strict=True):
            f.store(value, address)
        return [_not_finite(f, made, seen[0])]

    zero = f.constant(0, tiling.vector)
    (seen,) = f.loop(0, num_bytes, tiling.vector_bytes, [zero], vector)
    _set_flag(f, f.is_nan(seen), flag)


def _write_tiles(
    f: Function, tiling: Tiling, *, transform: Transform, reach: int
) -> None:
    target, image, zeros = arguments(f, 0, 3, PTR)
    channels, tile_rows, tiles, height, width, top, left = arguments(f, 1, 7)
    channel_step, row_step, place, to_channel, to_row = arguments(f, 2, 5)
    lanes, item = tiling.lanes, tiling.element_bytes
    nothing = f.constant(0, tiling.vector)

    def row_of_tiles(number: Value, _: list[Value]) -> None:
        first = top + number * _STEP
        rows, steps = [], []
        for i in range(reach):
            row = first + i
            is_inside = f.compare("ult", row, height)
            rows.append(f.select(is_inside, f.offset(image, row * row_step), zeros))
            steps.append(f.select(is_inside, channel_step, 0))
        start = f.offset(target, number * to_row)

        def vector(tile: Value, _: list[Value]) -> None:
            """Transform a vector of tiles. Loads of the elements from ``column`` on,
            and of those some pairs later, cover all elements of the tiles.
            """
            column = left + tile * _STEP
            starts = [column + i + j for i in range(0, reach, 2) for j in (0, lanes)]
            masks = [
                f.first_lanes(width - x, lanes) & ~f.first_lanes(-x, lanes)
                for x in starts
            ]

            def by_parity(row: Value) -> list[Value]:
                """Element 0 of the row of each tile, element 1, ..."""
                loads = [
                    f.masked_load(f.offset(row, x * item), mask, nothing)
                    for x, mask in zip(starts, masks, strict=True)
                ]
                pairs = zip(loads[::2], loads[1::2], strict=True)
                both = [range(parity, 2 * lanes, 2) for parity in (0, 1)]
                return [f.shuffle(*pair, take) for pair in pairs for take in both]

            def channel(_: Value, at: list[Value]) -> list[Value]:
                *here, there = at
                read = [x for row in here for x in by_parity(row)]
                made = _both_dims(f, transform, read)
                places = _places(f, there, place, _TILE**2)
                for value, address in zip(made, places, strict=True):
                    f.store(value, address)
                moved = zip(at, [*steps, to_channel], strict=True)
                return [f.offset(x, step) for x, step in moved]

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

            def store(even: Value, odd: Value, at: Value) -> None:
                for i, mask in enumerate(masks):
                    half = range(i * lanes // 2, (i + 1) * lanes // 2)
                    both = [lane + k * lanes for lane in half for k in range(_STEP)]
                    there = f.offset(at, i * lanes * item)
                    f.masked_store(f.shuffle(even, odd, both), there, mask)

            def channel(_: Value, at: list[Value]) -> list[Value]:
                sums = _places(f, at[0], place, _TILE**2)
                made = _both_dims(f, _result, [f.load(x, tiling.vector) for x in sums])

                def add_bias() -> list[Value]:
                    one = f.splat(f.load(at[2], tiling.element), lanes)
                    return [f.add(x, one) for x in made]

                made = f.branch(has_bias, add_bias, lambda: made)
                store(made[0], made[1], at[1])
                later = f.offset(at[1], c_row)
                f.branch(is_pair, lambda: store(made[2], made[3], later))
                steps = [from_channel, c_channel, bias_step]
                moved = [f.offset(x, s) for x, s in zip(at[:3], steps, strict=True)]
                return [*moved, _not_finite(f, made, at[3])]

            return f.loop(0, channels, 1, [start, to, bias, seen[0]], channel)[3:]

        (seen,) = f.loop(0, tile_rows, 1, [zero], row_of_tiles)
        _set_flag(f, f.is_nan(f.select(used, seen, zero)), flag)

    f.loop(0, tiles, lanes, [], vector)
