"""The parts of products that GEMM drivers combine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pellucid_compiler.abi.parts import DESCRIBED
from pellucid_compiler.codegen.schedules.gemm_parts import (
    DESCRIBE,
    MULTIPLY,
    PACK_WINDOWS,
)
from pellucid_compiler.codegen.schedules.gemm_runs import MULTIPLY_RUNS
from pellucid_compiler.codegen.schedules.gemm_single import DOTS, STEPS, TAPS
from pellucid_compiler.codegen.schedules.winograd import (
    WINOGRAD_FILTER,
    WINOGRAD_GRADIENT,
    WINOGRAD_IMAGE,
    WINOGRAD_RESULT,
    WINOGRAD_WEIGHT,
)
from tests.compiler.gemm_call import gemm_kernel
from tests.compiler.support import RUNNABLE

LEVELS = [target.name for target in RUNNABLE]


def run_part(
    level: str,
    mode: int,
    data: list[object],
    sizes: list[int],
    strides: list[int],
    accumulates: bool = False,
) -> None:
    addresses = [x.ctypes.data if isinstance(x, np.ndarray) else 0 for x in data]
    arrays = (
        np.array(addresses, np.uint64),
        np.array(sizes, np.int64),
        np.array(strides, np.int64),
        np.array([0, accumulates, mode], np.uint64),
    )
    kernel = gemm_kernel(level, "float32")
    assert kernel(*(x.ctypes.data for x in arrays)) == 0


def guarded(rows: int, columns: int) -> np.ndarray:
    return np.full((rows + 2, columns + 7), np.nan, np.float32)[1:-1, 3:-4]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("step", STEPS)
def test_taps_write_the_rows_of_c_and_nothing_else(level: str, step: int) -> None:
    random = np.random.default_rng(0)
    for rows, n, k in itertools.product((1, 4, 9), (1, 7, 16, 17, 40, 70), (1, 6)):
        image = random.standard_normal((rows + 3, step * n + 5)).astype(np.float32)
        weight = random.standard_normal(k).astype(np.float32)
        offsets = [(t % 3, t // 3) for t in range(k)]
        places = np.array([i * image.strides[0] + j * 4 for i, j in offsets], np.int64)
        c, steps = guarded(rows, n), np.arange(k, dtype=np.int64) * 4
        bias = np.array([0.5], np.float32)
        run_part(
            level,
            TAPS,
            [c, weight, image, bias, steps, places],
            [rows, n, k],
            [4 * step, c.strides[0], image.strides[0]],
        )
        windows = [image[i : i + rows, j : j + step * n : step] for i, j in offsets]
        want = (
            sum(w * x for w, x in zip(weight.astype(float), windows, strict=True)) + 0.5
        )
        np.testing.assert_allclose(c, want, rtol=1e-5, atol=1e-5)
        assert np.isnan(c.base).sum() == c.base.size - c.size, "wrote outside C"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("step", STEPS)
def test_dots_of_rows_with_places_of_another_operand(level: str, step: int) -> None:
    random = np.random.default_rng(0)
    for rows, length, n in itertools.product((1, 3), (1, 15, 16, 33), (1, 9, 14)):
        a = random.standard_normal((rows, length)).astype(np.float32)
        b = random.standard_normal((rows, step * length + n)).astype(np.float32)
        starts = [np.arange(rows, dtype=np.int64) * x.strides[0] for x in (a, b)]
        columns = np.arange(n, dtype=np.int64) * 4
        c = guarded(n, 1)
        run_part(
            level, DOTS, [c, a, b, *starts, columns], [rows, length, n],
            [4 * step, c.strides[0]],
        )  # fmt: skip
        want = [
            (a.astype(float) * b[:, j : j + step * length : step]).sum()
            for j in range(n)
        ]
        np.testing.assert_allclose(c[:, 0], want, rtol=1e-4, atol=1e-5)
        assert np.isnan(c.base).sum() == c.base.size - c.size, "wrote outside C"


@pytest.mark.parametrize("level", LEVELS)
def test_windows_have_zeros_where_their_lanes_are_outside(level: str) -> None:
    description = np.zeros(len(DESCRIBED), np.int64)
    run_part(level, DESCRIBE, [description], [], [])
    lanes = int(description[1])
    random = np.random.default_rng(0)
    source = random.standard_normal(6 * lanes).astype(np.float32)
    kinds = random.integers(0, 2, (3, lanes)).astype(bool)
    masks = (kinds << np.arange(lanes)).sum(1).astype(np.int64)
    offsets, kind = np.arange(0, 5 * lanes, 3), np.arange(0, 5 * lanes, 3) % 3
    pairs = np.stack([offsets * 4, kind * 8], 1)
    for first, end in ((0, lanes), (0, lanes - 3), (2, lanes)):
        target = np.full((len(pairs), lanes), 7, np.float32)
        data = [target, source, pairs, masks]
        run_part(level, PACK_WINDOWS, data, [len(pairs), first, end, 4 * lanes], [])
        want = source[offsets[:, None] + np.arange(lanes)] * kinds[kind]
        want[:, end:] = 0
        want[:, :first] = 7
        np.testing.assert_array_equal(target, want)


@pytest.mark.parametrize("level", LEVELS)
def test_runs_of_k_in_a_copy_that_taps_share(level: str) -> None:
    random = np.random.default_rng(0)
    fields = np.zeros(len(DESCRIBED), np.int64)
    run_part(level, DESCRIBE, [fields], [], [])
    tile, lanes, vectors, vectors_of_a = (int(x) for x in fields[:4])
    width, step = lanes * vectors, 2
    for m, k, runs in itertools.product((1, tile, tile + 3), (1, 2, 7), (1, 3)):
        panels = -(-m // tile)
        a = random.standard_normal((panels, runs, k, lanes * vectors_of_a), np.float32)
        b = random.standard_normal((runs * 20, width), np.float32)
        places = np.arange(runs, dtype=np.int64) * 20 * b.strides[0]
        sums = guarded(m, width)
        sums[:] = 0.25
        for accumulates in (False, True):
            run_part(
                level, MULTIPLY_RUNS, [sums, a, b, places], [m, k, runs, tile],
                [sums.strides[0], step * b.strides[0]], accumulates,
            )  # fmt: skip
        read = b.reshape(runs, 20, width)[:, : step * k : step]
        want = np.einsum("prkl,rkw->plw", a.astype(float), read)[:, :tile]
        want = 2 * want.reshape(panels * tile, width)[:m]
        np.testing.assert_allclose(sums, want, rtol=1e-5, atol=1e-5)
        assert np.isnan(sums.base).sum() == sums.base.size - sums.size


@pytest.mark.parametrize("level", LEVELS)
def test_panels_of_a_are_read_in_place(level: str) -> None:
    random = np.random.default_rng(0)
    fields = np.zeros(len(DESCRIBED), np.int64)
    run_part(level, DESCRIBE, [fields], [], [])
    tile, lanes, vectors = (int(x) for x in fields[:3])
    width = lanes * vectors
    for m, n, k in itertools.product((1, tile, 2 * tile + 3), (1, width + 3), (1, 9)):
        a = random.standard_normal((m, k + 5)).astype(np.float32)[:, :k]
        panels = random.standard_normal((-(-n // width), k, width)).astype(np.float32)
        bias = random.standard_normal(n).astype(np.float32)
        sums = guarded(m, n)
        run_part(
            level, MULTIPLY, [sums, a, panels, bias], [m, n, k, tile],
            [sums.strides[0], 0, 4, a.strides[0], 0],
        )  # fmt: skip
        b = panels.swapaxes(0, 1).reshape(k, -1)[:, :n]
        np.testing.assert_allclose(sums, a.astype(float) @ b + bias, 1e-5, 1e-5)
        assert np.isnan(sums.base).sum() == sums.base.size - sums.size


@pytest.mark.parametrize("level", LEVELS)
def test_rows_of_b_are_read_in_place(level: str) -> None:
    random = np.random.default_rng(0)
    fields = np.zeros(len(DESCRIBED), np.int64)
    run_part(level, DESCRIBE, [fields], [], [])
    tile, lanes, vectors, vectors_of_a = (int(x) for x in fields[:4])
    width = lanes * vectors
    for m, n, k in itertools.product((1, tile, tile + 3), (1, 3 * width + 5), (1, 9)):
        a = random.standard_normal((-(-m // tile), k, lanes * vectors_of_a), np.float32)
        b = random.standard_normal((k, n + 5)).astype(np.float32)[:, :n]
        sums = guarded(m, n)
        run_part(
            level, MULTIPLY, [sums, a, b, None], [m, n, k, tile],
            [sums.strides[0], 0, 0, 0, b.strides[0]],
        )  # fmt: skip
        rows = a.swapaxes(1, 2)[:, :tile].reshape(-1, k)[:m]
        np.testing.assert_allclose(sums, rows.astype(float) @ b, 1e-5, 1e-5)
        assert np.isnan(sums.base).sum() == sums.base.size - sums.size


# Winograd's transformations of one dim, as matrices.
FILTER = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
IMAGE = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
RESULT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
GRADIENT = np.array([[1, 0], [0.5, 0.5], [0.5, -0.5], [0, 1]])
WEIGHT = np.array([[1, 1, 1, 0], [0, 1, -1, 0], [0, 1, 1, -1]])


def both_dims(matrix: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.einsum("ia,jb,ab...->ij...", matrix, matrix, values)


def test_the_transformations_of_tiles_make_a_convolution_and_its_gradient() -> None:
    random = np.random.default_rng(0)
    filters, image = random.standard_normal((3, 3)), random.standard_normal((4, 4))
    places = both_dims(FILTER, filters) * both_dims(IMAGE, image)
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    want = np.einsum("pqab,ab->pq", windows, filters)
    np.testing.assert_allclose(both_dims(RESULT, places), want, rtol=1e-13)
    gradient = random.standard_normal((2, 2))
    places = both_dims(GRADIENT, gradient) * both_dims(IMAGE, image)
    want = np.einsum("pqab,pq->ab", windows, gradient)
    np.testing.assert_allclose(both_dims(WEIGHT, places), want, rtol=1e-13)


@pytest.mark.parametrize("level", LEVELS)
def test_filters_of_tiles(level: str) -> None:
    """Three channels of 32 contiguous filters, and of 16 with gaps."""
    taps = np.random.default_rng(0).uniform(1, 2, (9, 3, 48)).astype(np.float32)
    target, flag = np.zeros((16, 4, 48), np.float32), np.zeros(1, np.int64)
    taps[3, :, 32:] = 0

    def run() -> bool:
        flag[0] = 0
        run_part(
            level, WINOGRAD_FILTER, [target, taps, flag], [3, taps.strides[1], 32],
            [taps.strides[0], target.strides[0]],
        )  # fmt: skip
        want = both_dims(FILTER, taps.reshape(3, 3, 3, 48).astype(float))
        np.testing.assert_allclose(target[:, :3], want.reshape(16, 3, 48), 1e-6, 1e-6)
        assert not target[:, 3].any()
        return bool(flag[0])

    assert not run()
    taps[:, :, 5] = 0  # a filter of zeros hides nothing
    taps[2, :2, 7] = 0  # one channel has the tap
    taps[4, :, 9] /= 30
    assert not run()
    taps[8, :, 31] = 0
    assert run()
    taps[8, :, 31] = -1e-3
    assert run()
    taps[8, :, 31] = -1
    assert not run()
    taps[:, :, 30] *= 1e-35
    assert run()


@pytest.mark.parametrize("level", LEVELS)
def test_gradients_of_filters_from_sums_of_tiles(level: str) -> None:
    sums = np.random.default_rng(0).standard_normal((16, 3, 16)).astype(np.float32)
    target, flag = np.zeros((9, 4, 16), np.float32), np.zeros(1, np.int64)

    def run() -> None:
        run_part(
            level, WINOGRAD_WEIGHT, [target, sums, flag], [sums.strides[0]],
            [sums.strides[0], target.strides[0]],
        )  # fmt: skip

    run()
    want = both_dims(WEIGHT, sums.reshape(4, 4, 3, 16).astype(float))
    np.testing.assert_allclose(target[:, :3], want.reshape(9, 3, 16), 1e-5, 1e-6)
    assert not target[:, 3].any()
    assert flag[0] == 0
    sums[15, 2, 15] = np.inf
    run()
    assert flag[0] == 1


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [(1, 1), (2, 5), (7, 16), (6, 70)])
@pytest.mark.parametrize("first", [(0, 0), (-1, -2), (-2, 3)])
@pytest.mark.parametrize("part", [WINOGRAD_IMAGE, WINOGRAD_GRADIENT])
def test_tiles_of_an_image_with_zeros_around(
    level: str, size: tuple[int, int], first: tuple[int, int], part: int
) -> None:
    matrix, reach = (IMAGE, 4) if part == WINOGRAD_IMAGE else (GRADIENT, 2)
    channels, rows, tiles = 3, 4, size[1] // 2 + 2
    image = guarded(channels * size[0], size[1])
    image[:] = np.random.default_rng(0).standard_normal(image.shape)
    row = image.strides[0]
    target = np.zeros((16, channels, rows * tiles + 16), np.float32)
    run_part(
        level, part, [target, image, np.zeros(size[1], np.float32)],
        [channels, rows, tiles, *size, *first],
        [size[0] * row, row, *target.strides[:2], 4 * tiles],
    )  # fmt: skip
    wide = np.zeros((channels, 200, 200))
    wide[:, 9 : 9 + size[0], 9 : 9 + size[1]] = image.reshape(channels, *size)
    wide = wide[:, 9 + first[0] :, 9 + first[1] :]
    view = np.lib.stride_tricks.sliding_window_view
    windows = view(wide, (reach, reach), axis=(1, 2))
    windows = windows[:, : 2 * rows : 2, : 2 * tiles : 2]
    want = both_dims(matrix, np.moveaxis(windows, (3, 4), (0, 1)))
    want = want.reshape(16, channels, rows * tiles)
    np.testing.assert_allclose(target[..., : rows * tiles], want, 1e-6, 1e-6)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [(1, 1), (2, 5), (7, 16), (6, 70)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_elements_of_tiles(level: str, size: tuple[int, int], has_bias: bool) -> None:
    channels, rows, tiles = 3, -(-size[0] // 2), -(-size[1] // 2)
    random = np.random.default_rng(0)
    products = random.standard_normal((16, channels, rows * tiles + 16), np.float32)
    products[..., rows * tiles :] = np.inf  # memory behind the last tile is not used
    bias = random.standard_normal(channels).astype(np.float32)
    c, flag = guarded(channels * size[0], size[1]), np.zeros(1, np.int64)

    def run() -> np.ndarray:
        run_part(
            level, WINOGRAD_RESULT, [c, products, bias if has_bias else None, flag],
            [channels, rows, tiles, *size],
            [size[0] * c.strides[0], c.strides[0], *products.strides[:2], 4 * tiles, 4],
        )  # fmt: skip
        assert np.isnan(c.base).sum() >= c.base.size - c.size, "wrote outside C"
        return c.reshape(channels, *size)

    places = products[..., : rows * tiles].astype(float)
    result = both_dims(RESULT, places.reshape(4, 4, channels, rows, tiles))
    want = result.transpose(2, 3, 0, 4, 1).reshape(channels, 2 * rows, 2 * tiles)
    want = want[:, : size[0], : size[1]] + has_bias * bias[:, None, None]
    np.testing.assert_allclose(run(), want, 1e-5, 1e-5)
    assert flag[0] == 0
    products[0, channels - 1, rows * tiles - 1] = np.inf
    assert np.isinf(run()[-1]).sum() == 1
    assert flag[0] == 1
